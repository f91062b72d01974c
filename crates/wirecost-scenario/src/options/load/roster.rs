//! Who devices say that they are, one by one: the rows of a CSV file.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use wirecost_proto::units::counted;

/// The columns of a file, of which the first two must be there.
const COLUMNS: [&str; 4] = ["user", "password", "client_id", "topic"];
/// How many of them must be there.
const REQUIRED: usize = 2;

/// The devices of a file.
#[derive(Clone, PartialEq, Eq)]
pub struct Roster {
    /// The file.
    pub path: String,
    /// Its text; `None` where the scenario is only read and not run, so that the file may be missing.
    text: Option<Arc<str>>,
    rows: Arc<[Registered]>,
}

/// One device of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registered {
    /// User name.
    pub user: String,
    /// Password.
    pub password: String,
    /// Client identifier, if the file has them.
    pub client_id: Option<String>,
    /// Topic, path or address of its messages, if the file has them.
    pub topic: Option<String>,
}

/// Why a text is not the devices of a load.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct RosterError {
    /// The line, from 1.
    pub line: usize,
    /// The reason.
    pub why: String,
}

impl Roster {
    /// Only the name of the file: the scenario is read and not run.
    pub fn unread(path: String) -> Self {
        Self {
            path,
            text: None,
            rows: Arc::default(),
        }
    }

    /// Reads a header with the names of columns, and one line for each device. A field may be in double quotes, which are
    /// doubled in it (RFC 4180).
    ///
    /// # Errors
    /// A column is missing or unknown, in the header or in a line, or there is no device.
    pub fn read(path: String, text: &str) -> Result<Self, RosterError> {
        let error = |line: usize, why: String| RosterError { line: line + 1, why };
        let mut lines = text.lines().enumerate();
        // Spreadsheets write a byte order mark, which would be part of the first column's name.
        let header = lines.next().map(|(_, line)| line.trim_start_matches('\u{feff}'));
        let header = fields(header.unwrap_or_default()).map_err(|why| error(0, why))?;
        let all = COLUMNS.join(", ");
        // A misspelt column would be left out, and devices would log in without what it has.
        if let Some(unknown) = header.iter().find(|name| !COLUMNS.contains(&name.as_str())) {
            let why = match unknown.as_str() {
                "" => format!("the column user is missing: the columns are {all}"),
                name => format!("unknown column {name:?}: the columns are {all}"),
            };
            return Err(error(0, why));
        }
        if let Some(double) = (1..header.len()).find(|at| header[..*at].contains(&header[*at])) {
            return Err(error(0, format!("the column {} is there twice", header[double])));
        }
        let place = |column: &str| header.iter().position(|name| name == column);
        let places = COLUMNS.map(place);
        if let Some(missing) = (0..REQUIRED).find(|index| places[*index].is_none()) {
            let why = format!(
                "the column {} is missing: the columns are {all}",
                COLUMNS[missing]
            );
            return Err(error(0, why));
        }
        let mut rows = Vec::new();
        for (number, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            let fields = fields(line).map_err(|why| error(number, why))?;
            if fields.len() != header.len() {
                let lacking = header.get(fields.len());
                let lacking = lacking.map_or(String::new(), |name| format!(": {name} is missing"));
                let counts = format!("it has {} of {} columns", fields.len(), header.len());
                return Err(error(number, counts + &lacking));
            }
            let field = |index: usize| places[index].map(|place| fields[place].clone());
            // Devices without a topic of their own among others with one have no topic at all.
            if field(3).is_some_and(|topic| topic.is_empty()) {
                return Err(error(number, "topic is empty".to_owned()));
            }
            rows.push(Registered {
                user: field(0).unwrap_or_default(),
                password: field(1).unwrap_or_default(),
                // An empty cell means the identifier by the common pattern: a server may refuse a device without any (MQTT 3.1.1, 3.1.3.1).
                client_id: field(2).filter(|id| !id.is_empty()),
                topic: field(3),
            });
        }
        if rows.is_empty() {
            return Err(error(0, "there is no device below the header".to_owned()));
        }
        Ok(Self {
            path,
            text: Some(text.into()),
            rows: rows.into(),
        })
    }

    /// The device of this number: those that send, then subscribers.
    pub fn device(&self, number: u32) -> Option<&Registered> {
        self.rows.get(number as usize)
    }

    /// The topics of the devices, if the file has them.
    pub fn topics(&self) -> Option<Arc<[String]>> {
        // Nobody knows them of a file that was not read.
        self.text.as_ref()?;
        self.rows.iter().map(|row| row.topic.clone()).collect()
    }

    /// The text of the file, for a worker; `None` if it was not read.
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// The same without the folder of the file, in which it may be elsewhere on another machine.
    pub(crate) fn without_folder(self) -> Self {
        let path = Path::new(&self.path).file_name();
        Self {
            path: path.unwrap_or_default().to_string_lossy().into_owned(),
            ..self
        }
    }

    /// Why it has too few devices.
    pub(crate) fn lacks(&self, devices: u64) -> Option<String> {
        let there = self.rows.len() as u64;
        (self.text.is_some() && there < devices).then(|| {
            format!(
                "{} has {}, and there are {devices}, subscribers included",
                self.path,
                counted(there, "device")
            )
        })
    }
}

/// The fields of a line. Quotes are around a whole field (RFC 4180, section 2): elsewhere they would be lost from a password.
fn fields(line: &str) -> Result<Vec<String>, String> {
    let mut fields = Vec::new();
    let mut rest = line;
    loop {
        let (field, after) = match rest.strip_prefix('"') {
            Some(quoted) => unquoted(quoted)?,
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                if rest[..end].contains('"') {
                    return Err(
                        "a double quote inside a field: put the field in quotes, and double the one in it"
                            .into(),
                    );
                }
                (rest[..end].to_owned(), &rest[end..])
            }
        };
        fields.push(field);
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None if after.is_empty() => return Ok(fields),
            None => return Err("something follows the closing quote of a field".into()),
        }
    }
}

/// A field in quotes, whose first one is gone, and what follows it.
fn unquoted(mut rest: &str) -> Result<(String, &str), String> {
    let mut field = String::new();
    loop {
        let (part, after) = rest
            .split_once('"')
            .ok_or("a field in double quotes has no end")?;
        field.push_str(part);
        match after.strip_prefix('"') {
            Some(next) => {
                field.push('"');
                rest = next;
            }
            None => return Ok((field, after)),
        }
    }
}

impl fmt::Debug for Roster {
    /// Leaves out the passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Roster")
            .field("path", &self.path)
            .field("devices", &self.rows.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Roster, String> {
        Roster::read("creds.csv".into(), text).map_err(|error| error.to_string())
    }

    #[test]
    fn each_line_is_a_device_and_columns_are_in_any_order() {
        let roster =
            read("password,user,topic\r\np1,anna,t/a\r\n\r\n\"p,\"\"2\",bert,u\r\n").expect("devices");
        let first = roster.device(0).expect("a device");
        assert_eq!((first.user.as_str(), first.password.as_str()), ("anna", "p1"));
        assert_eq!(roster.device(1).map(|row| row.password.as_str()), Some("p,\"2"));
        assert_eq!(roster.device(1).and_then(|row| row.client_id.clone()), None);
        let topics = roster.topics().expect("topics");
        assert_eq!(*topics, ["t/a".to_owned(), "u".to_owned()]);
        assert_eq!(roster.lacks(2), None);
        let lacks = roster.lacks(3).expect("too few");
        assert_eq!(
            lacks,
            "creds.csv has 2 devices, and there are 3, subscribers included"
        );
        assert!(!format!("{roster:?}").contains("p1"));
    }

    #[test]
    fn a_file_that_was_not_read_has_no_topics_and_lacks_nothing() {
        let unread = Roster::unread("/a/creds.csv".into());
        assert_eq!((unread.topics(), unread.lacks(5)), (None, None));
        assert_eq!(unread.without_folder().path, "creds.csv");
        let empty = read("user,password,client_id\nanna,p,\n").expect("a device");
        assert_eq!(empty.device(0).and_then(|row| row.client_id.clone()), None);
    }

    #[test]
    fn a_missing_column_is_an_error_with_the_line() {
        for (text, told) in [
            (
                "",
                "line 1: the column user is missing: the columns are user, password, client_id, topic",
            ),
            (
                "user\nanna\n",
                "line 1: the column password is missing: the columns are user, password, client_id, topic",
            ),
            (
                "user,pass\nanna,p\n",
                "line 1: unknown column \"pass\": the columns are user, password, client_id, topic",
            ),
            (
                "user,password,client_id\nanna,p,a\n\nbert,p\n",
                "line 4: it has 2 of 3 columns: client_id is missing",
            ),
            ("user,password\nanna,p,q\n", "line 2: it has 3 of 2 columns"),
            ("user,password\n", "line 1: there is no device below the header"),
            (
                "user,user,password\na,b,p\n",
                "line 1: the column user is there twice",
            ),
            (
                "user, password\nanna,p\n",
                "line 1: unknown column \" password\": the columns are user, password, client_id, topic",
            ),
            ("user,password,topic\nanna,p,\n", "line 2: topic is empty"),
            (
                "user,password\nanna,\"p\n",
                "line 2: a field in double quotes has no end",
            ),
            (
                "user,password\nanna,\"p\"x\n",
                "line 2: something follows the closing quote of a field",
            ),
            (
                "user,password\nanna,p\"w\n",
                "line 2: a double quote inside a field: put the field in quotes, and double the one in it",
            ),
        ] {
            assert_eq!(read(text).expect_err(text), told);
        }
    }
}
