// How the connections stand, for an operator: the same facts as the details of readiness, with whose they are.
import type { Hono } from 'hono'
import type { ConnectionHealth } from '../observability/readiness.ts'
import type { AppDeps } from './deps.ts'

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
