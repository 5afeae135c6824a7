# Valkey's names for what Redis' sentinels know by another one. Used on the units of sentinels.
s/GET-PRIMARY-ADDR-BY-NAME/GET-MASTER-ADDR-BY-NAME/g
s/IS-PRIMARY-DOWN-BY-ADDR/IS-MASTER-DOWN-BY-ADDR/g
s/\(SENTINEL\|sentinel\) PRIMARY /\1 MASTER /g
s/\(SENTINEL\|sentinel\) primary /\1 master /g
s/primary-reboot-down-after-period/master-reboot-down-after-period/g
