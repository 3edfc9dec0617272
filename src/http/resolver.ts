// The caller who decides about an approval or a tool request, as the stores want to know them.
import type { Context } from 'hono'
import type { Resolver } from '../db/pending-actions.ts'
import { getAdmittedCaller } from './admin-token.ts'
import { actorName } from './note-act.ts'

/** An operator decides about all, a person about what is theirs. Who it is says the token, and nothing in the request. */
export function callerResolver(context: Context, tenant: string): Resolver {
  const caller = getAdmittedCaller(context)
  const owner = caller.kind === 'operator' ? null : caller.principal
  // The caller who holds a person's token is that person by delegation.
  const proven = owner === null ? {} : { assurance: 'delegated' }
  return {
    name: actorName(context),
    isOperator: owner === null,
    ...proven,
    scope: { tenant, conversationId: null, owner },
  }
}
