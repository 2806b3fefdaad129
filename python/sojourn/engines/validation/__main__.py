"""Entry point: ``python -m sojourn.validation FOLDER -o FILE.csv``."""

from sojourn.base.interrupt import stop_at_ctrl_c
from sojourn.engines.validation.recorded import main

if __name__ == "__main__":
    stop_at_ctrl_c()
    main()
