// Validates the input of an operation before anything is looked up; errors say what to send instead.
import * as z from 'zod'
import { GatewayError, type JsonObject } from '../../../src/lib/index.ts'
import { agentStatus, type DocumentDeps } from '../documents/document-deps.ts'

/** Short enough for an index, and nothing hidden in it. */
export const shortText = z
  .string()
  .max(2000)
  .regex(/^[^\p{Cc}]+$/u)

export const pageShape = z.object({
  agent: shortText.exactOptional(),
  after: shortText.exactOptional(),
  limit: z.coerce.number().int().min(1).max(100).default(50),
})

export function parseOperationInput<Schema extends z.ZodType>(
  schema: Schema,
  input: JsonObject,
  remedy: string,
): z.output<Schema> {
  const parsed = schema.safeParse(input)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new GatewayError('bad_request', `${issue?.path.join('.') || 'what was asked'} does not fit; ${remedy}`)
}

/** Of those that are here. */
export function requireKnownAgent(deps: Parameters<typeof agentStatus>[0], agent: string): string {
  if (agentStatus(deps, agent).kind === 'here') return agent
  throw new GatewayError('not_found', 'no agent of this name is an actor here; list them with parley agents')
}

export type OperateDeps = DocumentDeps & { readonly now: () => number }

/** For what is done about posts. */
export type PostDeps = Pick<DocumentDeps, 'records' | 'places' | 'agents' | 'settings'> & {
  /** Longest post, in characters. */
  readonly limit: number
}
