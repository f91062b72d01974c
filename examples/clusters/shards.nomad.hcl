# One shard of a scenario for each allocation of the group, on a host volume that the clients share.
job "wirecost" {
  type = "batch"

  group "shard" {
    count = 8

    volume "results" {
      type   = "host"
      source = "wirecost"
    }

    task "run" {
      driver = "exec"

      config {
        command = "/bin/sh"
        args    = ["-ec", <<SHARD
part=$((NOMAD_ALLOC_INDEX + 1))
cd "$RESULTS"
rm -rf "shards/$part"
wirecost run sweep.yaml --shard "$part/$SHARDS" --out "shards/$part" --quiet
SHARD
        ]
      }

      env {
        SHARDS  = "8"
        RESULTS = "/results"
      }

      volume_mount {
        volume      = "results"
        destination = "/results"
      }

      resources {
        cores  = 2
        memory = 1024
      }
    }
  }
}
