"use strict";
// The report is whole without this: it only adds a button that copies the command.
const command = document.getElementById("command");
if (command && navigator.clipboard) {
  const button = document.createElement("button");
  button.className = "copy";
  button.textContent = "copy";
  button.onclick = () => navigator.clipboard.writeText(command.textContent).then(() => { button.textContent = "copied"; });
  command.after(button);
}
