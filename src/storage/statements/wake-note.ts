// What a NOTIFY says: which pump has work, and who said so. Other words, or none, wake everybody.
import type { WakingWork } from '../database.ts'

export function wakeNote(work: WakingWork): string {
  return `'${work} ' || current_setting('application_name')`
}
