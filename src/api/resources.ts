// Every resource of the API, in the order of the OpenAPI document.
import { approvals } from './approvals.ts'
import { attachments } from './attachments.ts'
import { audit } from './audit.ts'
import { webhooks } from './channel-routes.ts'
import { agents, connections } from './connections.ts'
import { secrets, tokens } from './credentials.ts'
import { health } from './health.ts'
import { history } from './history.ts'
import { deadLetters, deliveries, explanations, replays, stats } from './messages.ts'
import { pairings } from './pairings.ts'
import { erasure, grants, principals } from './people.ts'
import type { Resource } from './resource.ts'
import { runs } from './runs.ts'
import { sessions, takeovers } from './sessions.ts'
import { tasks } from './tasks.ts'
import { toolRequests } from './tool-requests.ts'
import { discovery, tokenIssuers } from './well-known.ts'

/** By their names; where one has two parts, operators have the second. */
export const resourceTable = {
  webhooks,
  attachments,
  history,
  sessions,
  approvals,
  toolRequests,
  tokenIssuers,
  discovery,
  tasks,
  stats,
  agents,
  explanations,
  deadLetters,
  deliveries,
  replays,
  runs,
  tokens,
  grants,
  pairings,
  principals,
  erasure,
  takeovers,
  connections,
  secrets,
  audit,
  health,
} as const

export const resources: readonly Resource[] = Object.values(resourceTable)
