// What a NOTIFY says: which worker loop has work, and which process said so. Other words, or none, wake all of them.
import type { WakingWork } from '../database.ts'

export function notifyPayloadSql(work: WakingWork): string {
  return `'${work} ' || current_setting('application_name')`
}
