// What an operator or an owner did, for the audit log. What changes rows is written down by the statement that changes them;
// here stand the rest: attempts that came to nothing, and acts that are no statement of their own.
import type { Context } from 'hono'
import type { AuditLine } from '../identity/audit/audit-store.ts'
import { keptCaller } from './admin-token.ts'
import type { AppDeps } from './deps.ts'

/** Who acts, as statements and lines name them: an operator by their token, a person by their subject. */
export function actorIn(context: Context): string {
  const caller = keptCaller(context)
  return caller.kind === 'operator' ? `operator:${caller.label}` : caller.principal
}

export type Act = Pick<AuditLine, 'action' | 'outcome' | 'code' | 'objectId' | 'inboxId' | 'connection' | 'detail'>

/** Before the answer is given: no caller is told of an act that the log does not know. */
export async function noteAct({ audit }: Pick<AppDeps, 'audit'>, context: Context, act: Act): Promise<void> {
  const caller = keptCaller(context)
  const who = caller.kind === 'operator' ? { actor: actorIn(context) } : { subject: caller.principal }
  await audit.record({ ...act, ...who })
}
