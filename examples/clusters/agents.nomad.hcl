# An agent for each allocation of the group. The coordinator runs where clients can reach it, and writes join.token:
#   wirecost load mqtt://broker.lab -c 40k -r 40k/s -d 60s --i-own-this-target --agents 4 --listen 10.0.0.1:7700 --agents-wait 5m
#   nomad var put nomad/jobs/wirecost-agents join=@join.token
job "wirecost-agents" {
  type = "batch"

  group "agent" {
    count = 4

    # An agent that is lost is not replaced: its load goes on without it.
    restart {
      attempts = 0
    }

    task "run" {
      driver = "exec"

      template {
        data        = "{{ with nomadVar \"nomad/jobs/wirecost-agents\" }}{{ .join }}{{ end }}"
        destination = "secrets/join.token"
        perms       = "0400"
      }

      config {
        command = "/bin/sh"
        args    = ["-ec", <<AGENT
exec wirecost agent --join "$NOMAD_SECRETS_DIR/join.token" --name "agent-$NOMAD_ALLOC_INDEX"
AGENT
        ]
      }

      resources {
        cores  = 2
        memory = 1024
      }
    }
  }
}
