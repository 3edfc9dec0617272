// What an operator or an owner did, for the audit log. What changes rows is written down by the statement that changes them;
// here stand the rest: attempts that came to nothing, and acts that are no statement of their own.
import type { Context } from 'hono'
import type { AuditLine } from '../db/audit.ts'
import { getAdmittedCaller } from './admin-token.ts'
import type { AppDeps } from './deps.ts'

/** Who acts, as statements and lines name them: an operator by their token, a person by their subject. */
export function actorName(context: Context): string {
  const caller = getAdmittedCaller(context)
  return caller.kind === 'operator' ? `operator:${caller.label}` : caller.principal
}

export type AuditedAct = Pick<
  AuditLine,
  'action' | 'outcome' | 'code' | 'objectId' | 'inboxId' | 'connection' | 'detail'
>

/** Before the answer is given: no caller is told of an act that the log does not know. */
export async function recordAct({ audit }: Pick<AppDeps, 'audit'>, context: Context, act: AuditedAct): Promise<void> {
  const caller = getAdmittedCaller(context)
  const who = caller.kind === 'operator' ? { actor: actorName(context) } : { subject: caller.principal }
  await audit.record({ ...act, ...who })
}
