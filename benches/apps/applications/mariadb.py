"""The database server of the applications that need one."""

import shutil
import time

from application import HERE, INSTALLED

PASSWORD = "granite-4711"


class MariaDb:
    """Mixed into an application of Debian: a MariaDB of its own."""

    @property
    def database_port(self):
        return self.port + 1000

    def start_database(self):
        shutil.copytree(INSTALLED / "mariadb", self.folder / "database")
        options = [f"--datadir={self.folder}/database", f"--socket={self.folder}/database.socket", f"--port={self.database_port}"]
        options += ["--bind-address=127.0.0.1", "--skip-name-resolve", "--innodb-flush-method=fsync", "--user=root"]
        options += ["--innodb-log-file-size=4M", "--innodb-buffer-pool-size=32M"]
        self.spawn([HERE / "in-debian", self.folder / "server", "mariadbd", "--no-defaults", *options])
        for attempt in range(300):
            try:
                self.sql(f"create user warden identified by '{PASSWORD}'; grant all on *.* to warden with grant option", user="root", password="")
                return
            except RuntimeError:
                if attempt == 299:
                    raise
                time.sleep(0.3)

    def sql(self, query, database="", user="warden", password=PASSWORD):
        """Returns the rows of a query as lists of texts."""
        command = ["mariadb", "--no-defaults", "-h127.0.0.1", f"-P{self.database_port}", f"-u{user}", *([f"-p{password}"] if password else [])]
        command += ["--default-character-set=utf8mb4", "--batch", "--skip-column-names", "-e", query, *([database] if database else [])]
        return [line.split("\t") for line in self.run(HERE / "in-debian", self.folder / "client", *command).splitlines()]
