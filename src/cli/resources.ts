// The resources that have commands, and the command that an operator types for a route.
import { approvals, approvalsCommands } from '../api/approvals.ts'
import { attachments, attachmentsCommands } from '../api/attachments.ts'
import { audit, auditCommands } from '../api/audit.ts'
import type { AnyCommand, ResourceCommands } from '../api/command.ts'
import { agents, agentsCommands, connections, connectionsCommands } from '../api/connections.ts'
import { secrets, secretsCommands, tokens, tokensCommands } from '../api/credentials.ts'
import { deliveries, deliveriesCommands, stats, statsCommands } from '../api/messages.ts'
import { pairings, pairingsCommands } from '../api/pairings.ts'
import { grants, grantsCommands, principals, principalsCommands } from '../api/people.ts'
import { type AnyOperation, buildOperationRequest, type Resource } from '../api/resource.ts'
import { runs, runsCommands } from '../api/runs.ts'
import { sessions, sessionsCommands, takeovers, takeoversCommands } from '../api/sessions.ts'
import { toolRequests, toolRequestsCommands } from '../api/tool-requests.ts'

export type ShownResource = Omit<ResourceCommands<Resource>, 'commands'> & {
  readonly name: string
  readonly commands: readonly { readonly operation: AnyOperation; readonly command: AnyCommand }[]
}

function bindCommandsToResource<Of extends Resource>(resource: Of, shown: ResourceCommands<Of>): ShownResource {
  const { commands, ...group } = shown
  const operations = resource.operations as Readonly<Record<string, AnyOperation>>
  const entries = Object.entries(commands) as [string, AnyCommand | readonly AnyCommand[]][]
  return {
    ...group,
    name: resource.name,
    commands: entries.flatMap(([name, one]) => {
      const operation = operations[name]
      return operation === undefined
        ? []
        : [one].flat().map((command) => ({ operation, command: command as AnyCommand }))
    }),
  }
}

export const shown = {
  stats: bindCommandsToResource(stats, statsCommands()),
  agents: bindCommandsToResource(agents, agentsCommands()),
  connections: bindCommandsToResource(connections, connectionsCommands()),
  deliveries: bindCommandsToResource(deliveries, deliveriesCommands()),
  runs: bindCommandsToResource(runs, runsCommands()),
  approvals: bindCommandsToResource(approvals, approvalsCommands()),
  toolRequests: bindCommandsToResource(toolRequests, toolRequestsCommands()),
  sessions: bindCommandsToResource(sessions, sessionsCommands()),
  takeovers: bindCommandsToResource(takeovers, takeoversCommands()),
  attachments: bindCommandsToResource(attachments, attachmentsCommands()),
  pairings: bindCommandsToResource(pairings, pairingsCommands()),
  grants: bindCommandsToResource(grants, grantsCommands()),
  principals: bindCommandsToResource(principals, principalsCommands()),
  tokens: bindCommandsToResource(tokens, tokensCommands()),
  secrets: bindCommandsToResource(secrets, secretsCommands()),
  audit: bindCommandsToResource(audit, auditCommands()),
} as const

/** Routes whose command does more than one request. */
const composedCommands: Readonly<Record<string, string>> = { 'GET /admin/dead-letters': 'parley dead-letters list' }

/** Words of the API in the words of the command line: `GET /admin/grants` is `parley grants list`. */
export function replaceRoutesByCommands(text: string): string {
  return text.replaceAll(/\b(GET|POST|DELETE) (\/admin\/[\w/-]+)/g, (route) => {
    const found = Object.values(shown).flatMap(({ name, commands }) =>
      commands
        .filter(({ operation }) => operationRouteText(operation) === route)
        .map(({ command }) => (command.name === name ? `parley ${name}` : `parley ${name} ${command.name}`)),
    )
    return found[0] ?? composedCommands[route] ?? route
  })
}

function operationRouteText(operation: AnyOperation): string {
  if (operation.path.includes(':')) return ''
  const { method, path } = buildOperationRequest(operation, {})
  return `${method} ${path}`
}
