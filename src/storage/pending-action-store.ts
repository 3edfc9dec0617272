// Pending actions on SQL.
import type { PendingActionStatus } from '../agent/approvals/pending-action.ts'
import type {
  ActionLine,
  ActionScope,
  PendingActionStore,
  RefusedResolution,
  Resolution,
  Resolver,
  StoredAction,
  Verdict,
} from '../agent/approvals/pending-action-store.ts'
import type { Resolvers } from '../agent/approvals/terms.ts'
import type { Database } from './database.ts'
import {
  countActions,
  findActions,
  getAction,
  listActions,
  loadAction,
  resolveAction,
} from './statements/pending-actions.ts'
import { storableJson } from './storable-json.ts'

export function createPendingActionStore(database: Database): PendingActionStore {
  const readActionRow = async (scope: ActionScope, id: string): Promise<Row | undefined> =>
    (await database.query<Row>(getAction, [...actionScopeParams(scope), id]))[0]
  return {
    async get(scope, id) {
      const row = await readActionRow(scope, id)
      return row === undefined ? undefined : toActionLine(row)
    },
    async find(scope, { code, origin }) {
      return (await database.query<Row>(findActions, [...actionScopeParams(scope), code, origin])).map(toActionLine)
    },
    async list(scope, { status, limit, before }) {
      return (await database.query<Row>(listActions, [...actionScopeParams(scope), status, limit, before])).map(
        toActionLine,
      )
    },
    async summary(scope) {
      const rows = await database.query<{ status: PendingActionStatus; count: number }>(
        countActions,
        actionScopeParams(scope),
      )
      const none = { pending: 0, accepted: 0, rejected: 0, expired: 0, deleted: 0 }
      return { ...none, ...Object.fromEntries(rows.map(({ status, count }) => [status, count])) }
    },
    async resolve(id, verdict, resolver) {
      const { name, isOperator, scope, role = null, assurance = null, isInChat = false } = resolver
      const { status, hash, ...told } = verdict
      const isOutside = isOperator && !isInChat
      const more = isOutside ? { by: 'an operator', ...told } : told
      const params = [id, status, name, isOperator, hash ?? null, storableJson(more)]
      const [row] = await database.query<Row>(resolveAction, [
        ...actionScopeParams(scope),
        ...params,
        database.isShared,
        role,
        assurance,
        isOutside,
      ])
      if (row !== undefined) return { kind: 'resolved', action: toActionLine(row), isDuplicate: false }
      return explained(await readActionRow(scope, id), verdict, resolver)
    },
    async load(tenant, id) {
      return (await database.query<StoredAction>(loadAction, [tenant, id]))[0]
    },
  }
}

type Row = Omit<ActionLine, 'resolvers'> & { readonly isOverdue: boolean; readonly resolvers: string }

function actionScopeParams({ tenant, owner, conversationId }: ActionScope): [string, string | null, string | null] {
  return [tenant, owner, conversationId]
}

function toActionLine({ isOverdue: _, resolvers, ...line }: Row): ActionLine {
  // A word, or terms that were checked before they were stored.
  return { ...line, resolvers: (resolvers.startsWith('{') ? JSON.parse(resolvers) : resolvers) as Resolvers }
}

/** Why nothing was decided; or it was, before, by the same person and alike. */
function explained(row: Row | undefined, verdict: Verdict, { name }: Resolver): Resolution {
  if (row === undefined) return { kind: 'refused', reason: 'not_found', action: null }
  const action = toActionLine(row)
  if (row.status === verdict.status && row.resolver === name) return { kind: 'resolved', action, isDuplicate: true }
  return { kind: 'refused', reason: findResolutionRefusal(row, verdict), action }
}

function findResolutionRefusal(row: Row, { hash }: Verdict): RefusedResolution {
  if (row.status === 'expired') return 'expired'
  if (row.status !== 'pending') return 'already_resolved'
  // No other decision was made: the remaining conditions are the clock, what was shown, and who may decide.
  if (row.isOverdue) return 'expired'
  return hash !== undefined && hash !== row.hash ? 'changed' : 'not_allowed'
}
