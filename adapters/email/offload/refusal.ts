// The refusal of a mail that a thread failed on.
import type { OffloadError } from '../../../src/contract/index.ts'
import type { MailRefusal } from '../wire/judged.ts'

/** It says nothing of the mail: there was no thread for it. */
export const busyReason = 'mail_checks_busy'

/** Always a temporary one: the sender keeps the mail and sends it again. */
export function offloadRefusal({ failure }: OffloadError): MailRefusal {
  const reason = { busy: busyReason, timeout: 'mail_check_timeout', crashed: 'mail_check_crashed' }[failure]
  return { kind: 'later', reason, remedy: 'Send it again later.' }
}
