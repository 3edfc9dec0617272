// The two ways a restore says no: the backup is not whole, or it does not fit the place it shall go to.
import { GatewayError } from '../../contract/index.ts'

export function backupDamagedError(why: string): GatewayError {
  return new GatewayError('backup_damaged', `[backup] ${why}; nothing was restored, use another copy of the backup`)
}

export function restoreRefusedError(why: string): GatewayError {
  return new GatewayError('restore_refused', `[backup] ${why}; nothing was restored`)
}
