// Pairings: people the gateway does not know yet, listed, approved and rejected by the code they were given.

import * as z from 'zod'
import {
  approvePairing,
  listPairingGroups,
  listPairings,
  type PairingDecision,
  type PairingGroup,
  type PairingLine,
  pairingStatuses,
  rejectPairing,
} from '../db/pairings.ts'
import { formatPairingCode, readPairingCode } from '../identity/pairing.ts'
import { GatewayError } from '../lib/errors.ts'
import { actorName } from './admin-access.ts'
import type { ResourceCommands } from './command.ts'
import {
  createNextPageMark,
  defineOperation,
  defineResource,
  idPageQuerySchema,
  instantSchema,
  jsonObjectSchema,
  nextId,
  type OperationRequest,
} from './resource.ts'

const pairingSchema = z
  .object({
    id: z.uuid(),
    code: z.string(),
    status: z.enum(pairingStatuses),
    connection: z.string(),
    agent: z.string().meta({ description: '*: with the connection; else with this agent' }),
    wroteTo: z.string().meta({ description: 'The agent they wrote to first' }),
    subject: z.string(),
    shownName: z.string().nullable().meta({ description: 'How they call themselves; proves nothing' }),
    evidence: jsonObjectSchema.nullable().meta({ description: 'Issuer, method and assurance' }),
    held: z.number().int().meta({ description: 'Messages that wait for it' }),
    createdAt: instantSchema,
    expiresAt: instantSchema,
    decidedAt: instantSchema.nullable(),
    decidedBy: z.string().nullable(),
  })
  .meta({ id: 'Pairing', description: 'A person who waits to be let in, or what was decided about them' })

const groupSchema = z.object({
  connection: z.string(),
  group: z.string().nullable().meta({ description: 'null: all of the connection' }),
  people: z.number().int().meta({ description: 'How many wait' }),
  notTaken: z.number().int().meta({ description: 'Messages of others whose senders were not taken' }),
})

const codeSchema = z.string().transform((text, issues) => {
  const code = readPairingCode(text)
  if (code !== undefined) return code
  issues.addIssue('must have eight letters and digits, such as BCDF-2345; the dash may be left out')
  return z.NEVER
})

const decisionSchema = z.object({
  pairing: pairingSchema,
  messages: z.number().int().meta({ description: 'How many of their messages go on, or end, with it' }),
})

export const pairings = defineResource({
  name: 'pairings',
  tag: 'Operator: people',
  audience: 'operator',
  operations: {
    list: defineOperation({
      method: 'get',
      path: '/admin/pairings',
      id: 'listPairings',
      summary: 'Lists people who wait to be let in',
      scopes: ['admin', 'read'],
      query: idPageQuerySchema().extend({
        status: z.enum(pairingStatuses).optional().meta({ description: 'What became of them' }),
      }),
      output: z.object({ pairings: z.array(pairingSchema), next: nextId, groups: z.array(groupSchema) }),
      async handle({ deps, query }) {
        const { db } = deps.gateway
        const { limit, before = null, status = null } = query
        const found = await listPairings(db, { limit, before, status })
        const next = createNextPageMark(found, limit, (each) => each.id)
        return { pairings: found.map(withFormattedPairingCode), next, groups: await listPairingGroups(db) }
      },
    }),
    approve: defineOperation({
      method: 'post',
      path: '/admin/pairings/:code/approve',
      id: 'approvePairing',
      summary: 'Lets a person in by their code',
      params: { code: codeSchema.meta({ description: 'The code they were given' }) },
      output: decisionSchema,
      problems: [404, 409],
      handle: async (request) =>
        pairingDecisionResponse(
          request,
          await approvePairing(request.deps.gateway.db, request.params.code, pairingDecider(request)),
        ),
    }),
    reject: defineOperation({
      method: 'post',
      path: '/admin/pairings/:code/reject',
      id: 'rejectPairing',
      summary: 'Turns a person away by their code',
      params: { code: codeSchema.meta({ description: 'The code they were given' }) },
      body: {
        schema: z.strictObject({
          block: z.boolean().default(false).meta({
            description: 'Refuse whatever else they write there; undone with parley grants unblock',
          }),
        }),
        maxBytes: 1024,
        remedy: 'send {"block": true} to refuse whatever else they write, or {}',
        example: { block: true },
      },
      output: decisionSchema,
      problems: [404, 409],
      async handle(request) {
        const { deps, params, body } = request
        return pairingDecisionResponse(
          request,
          await rejectPairing(deps.gateway.db, params.code, pairingDecider(request), body.block),
        )
      },
    }),
  },
})

function pairingDecider({ context }: Pick<OperationRequest, 'context'>) {
  return { name: actorName(context), subject: null }
}

function pairingDecisionResponse({ deps }: Pick<OperationRequest, 'deps'>, decision: PairingDecision) {
  if (decision.kind === 'unknown')
    throw new GatewayError('not_found', 'no pairing has this code; list them with GET /admin/pairings')
  deps.wake()
  if (decision.kind === 'late') throw new GatewayError('conflict', lateDecisionText(decision.pairing))
  return { pairing: withFormattedPairingCode(decision.pairing), messages: decision.messages }
}

function lateDecisionText({ status, decidedBy, decidedAt, expiresAt, subject }: PairingLine): string {
  const other = `to decide otherwise use parley grants for ${subject}`
  if (status === 'expired')
    return `this code expired at ${expiresAt}; the sender gets a new one when they write again, or ${other}`
  return `already ${status} by ${decidedBy ?? 'an operator'} at ${decidedAt ?? 'some time'}; ${other}`
}

function withFormattedPairingCode(pairing: PairingLine): PairingLine {
  return { ...pairing, code: formatPairingCode(pairing.code) }
}

const codeWord = { code: 'The code they were given; dash and case do not matter' }

export const pairingsCommands = () =>
  ({
    description: 'People the gateway does not know yet, who wait to be let in.',
    examples: ['parley pairings list', 'parley pairings approve BCDF-2345'],
    commands: {
      list: {
        name: 'list',
        description: 'List people who wait to be let in, newest first.',
        examples: ['parley pairings list', 'parley pairings list --status all --json'],
        flags: {
          status: {
            options: [...pairingStatuses, 'all'],
            default: 'pending',
            description: 'What became of them; all: those that wait come first',
          },
        },
        head: ({ groups }) => groups.map(pairingGroupText),
        rows: 'pairings',
        columns: {
          CODE: 'code',
          STATUS: 'status',
          WHO: 'subject',
          'GOES BY': 'shownName',
          CONNECTION: 'connection',
          AGENT: 'agent',
          HELD: 'held',
          EXPIRES: 'expiresAt',
          'DECIDED BY': 'decidedBy',
        },
        empty: 'No pairings.',
      },
      approve: {
        name: 'approve',
        description: 'Let the sender in; what they wrote meanwhile is answered.',
        examples: ['parley pairings approve BCDF-2345'],
        about: codeWord,
        text: ({ pairing, messages }, { isOffline }) =>
          `Let in: ${pairingSenderText(pairing)}. ${messageCountText(messages)} answered ${isOffline ? 'when a gateway starts' : 'now'}.`,
      },
      reject: {
        name: 'reject',
        description: 'Turn the sender away; what they wrote is not answered, and they are not told.',
        examples: ['parley pairings reject BCDF-2345', 'parley pairings reject BCDF-2345 --block'],
        about: codeWord,
        text: ({ pairing, messages }, { args }) => {
          const then =
            args['block'] === true
              ? 'They are blocked.'
              : 'Should they write again in an hour or later, they get a new code.'
          return `Turned away: ${pairingSenderText(pairing)}. ${messageCountText(messages)} refused. ${then}`
        },
      },
    },
  }) as const satisfies ResourceCommands<typeof pairings>

/** A flood is one line, however many came. */
function pairingGroupText({ connection, group, people, notTaken }: PairingGroup): string {
  const who = `${people} ${people === 1 ? 'person' : 'people'}${group === null ? '' : ` of ${group}`}`
  const wait = `${who} ${people === 1 ? 'waits' : 'wait'} on ${connection}`
  return `${wait}${notTaken === 0 ? '' : `; ${notTaken} more ${notTaken === 1 ? 'message was' : 'messages were'} not taken`}.`
}

function pairingSenderText({
  subject,
  shownName,
  connection,
}: Pick<PairingLine, 'subject' | 'shownName' | 'connection'>): string {
  return `${subject}${shownName === null ? '' : ` ("${shownName}")`} on ${connection}`
}

function messageCountText(count: number): string {
  return count === 1 ? '1 message is' : `${count} messages are`
}
