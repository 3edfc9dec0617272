// Connections and their health, for an operator: the same facts as the details of readiness, with whose they are; and operations
// of channels.
import type { Context, Hono } from 'hono'
import * as z from 'zod'
import { GatewayError, isGatewayError, type JsonObject } from '../contract/index.ts'
import type { Done } from '../inbound/channel-operations.ts'
import type { ConnectionHealth } from '../observability/readiness.ts'
import type { GatewayConnection } from '../turns/deps.ts'
import { actorName, recordAct } from './admin-access.ts'
import type { AppDeps } from './deps.ts'
import { readJsonRequest } from './request-input.ts'
import { findConnection } from './webhook.ts'

export type ConnectionLine = ConnectionHealth & { readonly agent: string; readonly access: string }

export function addConnectionRoutes(app: Hono, deps: AppDeps): void {
  app.get('/admin/connections', async (context) => {
    const { detail } = await deps.readReadiness()
    const lines = deps.gateway.connections.flatMap(
      ({ key, connection: { agent }, access }): readonly ConnectionLine[] =>
        detail.connections
          .filter((line) => line.connection === key)
          .map((line) => ({ ...line, agent, access: access.mode })),
    )
    return context.json({ connections: lines })
  })
}

// An operation of a channel is asked for by the connection's name and the operation's.

export const operationBody = {
  // JSON is all that a parsed body holds.
  schema: z.record(z.string(), z.unknown()).transform((input) => input as JsonObject),
  maxBytes: 1024 * 1024,
  remedy: 'send what the operation wants to know as a JSON object, {} where that is nothing',
} as const

export const operationPath = '/admin/connections/:channel/:connection/operations/:name'

export function addOperationRoutes(app: Hono, deps: AppDeps): void {
  app.post(operationPath, async (context) => {
    const { channel, connection, name } = context.req.param()
    const at = findConnection(deps, channel, connection)
    if (at === undefined) throw connectionUnknown(deps)
    const input = await readJsonRequest(context, operationBody)
    const { value, inboxId, isRepeat } = await operateAndAudit(deps, context, at, { name, input })
    if (inboxId !== undefined) deps.wake()
    return context.json({ value, id: inboxId ?? null, isRepeat: isRepeat ?? false })
  })
}

/** Who only looks stands in no log; who changes something, or tried to, does. */
async function operateAndAudit(
  deps: AppDeps,
  context: Context,
  at: GatewayConnection,
  { name, input }: { readonly name: string; readonly input: JsonObject },
): Promise<Done> {
  const line = { action: 'channel.operate', connection: at.key, detail: { operation: name.slice(0, 100) } }
  try {
    const done = await deps.gateway.operate(at, { name, input, by: actorName(context) })
    const { inboxId, isRepeat = false } = done
    if (inboxId !== undefined)
      await recordAct(deps, context, { ...line, outcome: isRepeat ? 'repeated' : 'done', inboxId })
    return done
  } catch (error) {
    if (isGatewayError(error)) await recordAct(deps, context, { ...line, outcome: 'refused', code: error.code })
    throw error
  }
}

function connectionUnknown({ gateway }: Pick<AppDeps, 'gateway'>): GatewayError {
  const known = gateway.connections.map(({ key }) => key).join(', ')
  return new GatewayError('not_found', `no such connection; there are ${known}`)
}
