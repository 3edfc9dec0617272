// Accounts that asked to follow, and those that do: listed, and found by their address.
import * as z from 'zod'
import { GatewayError, type JsonObject } from '../../../src/contract/index.ts'
import { type FollowRecord, parseFollow } from '../wire/asker.ts'
import { peerKey } from '../wire/peer-records.ts'
import { knownAgent, pageShape, parseOperationInput, shortText } from './asked.ts'
import type { OperateDeps } from './deps.ts'

const whoShape = z.object({ actor: shortText, agent: shortText.exactOptional() })

/** `name`: of the list in the answer. */
export async function listFollowRecords(
  { records }: OperateDeps,
  family: string,
  name: string,
  input: JsonObject,
): Promise<JsonObject> {
  const { limit, ...page } = parseOperationInput(
    pageShape,
    input,
    'give limit from 1 to 100, after as a list ended, agent by its name',
  )
  const found = await records.list(family, { ...page, limit })
  const lines = found.map(({ key, value, at }) => ({
    agent: key.slice(0, key.indexOf(' ')),
    actor: String(value['actor']),
    follow: typeof value['follow'] === 'string' ? value['follow'] : null,
    since: at,
  }))
  return { [name]: lines, next: found.length < limit ? null : (found.at(-1)?.key ?? null) }
}

/** `none`: the error where there is no such actor. */
export async function findFollowRecord(
  deps: OperateDeps,
  family: string,
  input: JsonObject,
  none: string,
): Promise<FollowRecord> {
  const { actor, agent } = parseOperationInput(whoShape, input, 'give actor as the list shows it')
  const agents = agent === undefined ? deps.agents().map(({ slug }) => slug) : [knownAgent(deps, agent)]
  const found = await Promise.all(
    agents.map(async (each) => {
      const value = await deps.records.get(family, peerKey(each, actor))
      return value === undefined ? undefined : parseFollow(each, value)
    }),
  )
  const [first, ...more] = found.filter((each) => each !== undefined)
  if (first === undefined) throw new GatewayError('not_found', none)
  if (more.length === 0) return first
  const names = [first, ...more].map((each) => each.agent).join(', ')
  throw new GatewayError('bad_request', `that is about several agents (${names}); say which one`)
}
