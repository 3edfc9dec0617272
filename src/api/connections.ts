// Connections, agents and the ledger: what a gateway has, how it stands, and what can be asked of its channels.
import * as z from 'zod'
import { type AgentFacts, agentToListItem } from '../agents/agent-settings.ts'
import { formatAddress } from '../contract/index.ts'
import { GatewayError, isGatewayError } from '../lib/errors.ts'
import type { GatewayConnection } from '../turns/gateway-connection.ts'
import { actorName, auditCallerAction } from './admin-access.ts'
import type { ResourceCommands } from './command.ts'
import { defineOperation, defineResource, instantSchema, jsonObjectSchema } from './resource.ts'
import { findConnectionByChannelAndId } from './webhook.ts'

const seconds = z.number().nullable()

const connectionSchema = z
  .object({
    connection: z.string(),
    agent: z.string(),
    access: z.string(),
    state: z.enum(['checking', 'ok', 'degraded', 'failed']).optional(),
    since: instantSchema.optional(),
    checkedAt: instantSchema.optional(),
    summary: z.string().optional().meta({ description: 'Who we are there and how messages come' }),
    reason: z.string().optional().meta({ description: 'Of the worst of what is wrong' }),
    problem: z.string().optional(),
    remedy: z.string().optional(),
    lastInboundAge: seconds,
    lastOutboundAge: seconds,
    waiting: z.number().int(),
    oldestWaitingAge: seconds,
    openCalls: z.number().int(),
    oldestDueCallAge: seconds,
  })
  .meta({ id: 'Connection', description: 'How a connection stands; ages in seconds' })

export const connections = defineResource({
  name: 'connections',
  tag: 'Operator: channels',
  audience: 'operator',
  operations: {
    list: defineOperation({
      method: 'get',
      path: '/admin/connections',
      id: 'listConnections',
      summary: 'How each connection stands',
      about:
        'State (checking, ok, degraded, failed), since when, what is wrong and what to do, as the platform and the answering process tell; ages in seconds.',
      output: z.object({ connections: z.array(connectionSchema) }),
      async handle({ deps }) {
        const { detail } = await deps.readReadiness()
        const lines = deps.gateway.connections.flatMap(({ key, connection: { agent }, access }) =>
          detail.connections
            .filter((line) => line.connection === key)
            .map((line) => ({ ...line, agent, access: access.mode })),
        )
        return { connections: lines }
      },
    }),
    operate: defineOperation({
      method: 'post',
      path: '/admin/connections/:channel/:connection/operations/:name',
      id: 'operateChannel',
      summary: 'Asks something of a channel as it runs',
      about:
        'What it changes is one row, done once by its name and found with parley explain. A name the channel does not know is answered with those it knows.',
      params: {
        channel: z.string().meta({ description: 'A channel' }),
        connection: z.string().meta({ description: 'The id of a connection of it' }),
        name: z.string().meta({ description: 'Such as reports.list' }),
      },
      body: {
        schema: jsonObjectSchema,
        maxBytes: 1024 * 1024,
        remedy: 'send what the operation wants to know as a JSON object, {} where that is nothing',
        example: {},
      },
      returns: 'What the channel says; the id of the row where something was changed; whether it had been done before',
      output: z.object({ value: jsonObjectSchema, id: z.uuid().nullable(), isRepeat: z.boolean() }),
      example: { value: { reports: [], next: null }, id: null, isRepeat: false },
      problems: [400, 404, 409, 422, 503],
      async handle({ deps, context, params: { channel, connection, name }, body }) {
        const at = findConnectionByChannelAndId(deps, channel, connection)
        if (at === undefined) {
          const known = deps.gateway.connections.map(({ key }) => key).join(', ')
          throw new GatewayError('not_found', `no such connection; there are ${known}`)
        }
        // Who only looks stands in no log; who changes something, or tried to, does.
        const line = { action: 'channel.operate', connection: at.key, detail: { operation: name.slice(0, 100) } }
        try {
          const asked = { name, input: body, by: actorName(context) }
          const { value, inboxId, isRepeat = false } = await deps.gateway.operate(at, asked)
          if (inboxId === undefined) return { value, id: null, isRepeat }
          await auditCallerAction(deps, context, { ...line, outcome: isRepeat ? 'repeated' : 'done', inboxId })
          deps.wake()
          return { value, id: inboxId, isRepeat }
        } catch (error) {
          if (isGatewayError(error))
            await auditCallerAction(deps, context, { ...line, outcome: 'refused', code: error.code })
          throw error
        }
      },
    }),
  },
})

export const connectionsCommands = () =>
  ({
    description: 'See how connections stand with their platforms.',
    examples: ['parley connections list'],
    commands: {
      list: {
        name: 'list',
        description: 'Show how each connection stands, since when, and what to do where something is wrong.',
        examples: [
          'parley connections list',
          'parley connections list --json | jq \'.connections[] | select(.state != "ok")\'',
        ],
        rows: 'connections',
        columns: {
          CONNECTION: 'connection',
          AGENT: 'agent',
          ACCESS: 'access',
          STATE: ({ state }, { isOffline }) => state ?? (isOffline ? 'not running' : 'unknown'),
          FOR: ({ since }) => (since === undefined ? null : ageText((Date.now() - Date.parse(since)) / 1000)),
          'LAST IN': ({ lastInboundAge }) => ageText(lastInboundAge),
          'LAST OUT': ({ lastOutboundAge }) => ageText(lastOutboundAge),
          WAITING: 'waiting',
          ABOUT: ({ summary, problem, remedy }) =>
            [problem === undefined ? undefined : `${problem}; ${remedy}`, summary]
              .filter((each) => each !== undefined)
              .join(' - ') || null,
        },
        empty: 'No connections.',
      },
    },
  }) as const satisfies ResourceCommands<typeof connections>

function ageText(age: number | null): string | null {
  if (age === null) return null
  const whole = Math.max(0, Math.round(age))
  if (whole < 120) return `${whole} s`
  if (whole < 7200) return `${Math.round(whole / 60)} min`
  return whole < 172_800 ? `${Math.round(whole / 3600)} h` : `${Math.round(whole / 86_400)} d`
}

const agentSchema = z
  .object({
    slug: z.string(),
    label: z.string(),
    description: z.string(),
    busy: z.string(),
    access: z.string().nullable(),
    source_type: z.string().nullable(),
    source_package: z.string().nullable(),
    source_version: z.string().nullable(),
    source_ref: z.string().nullable(),
    agent_calls: z.array(z.string()).nullable(),
    address: z.string(),
    connections: z.array(
      z.object({
        connection: z.string(),
        by: z.enum(['own', 'default', 'mention']).meta({
          description: 'own: the account is its own; default: it answers where no agent is named; mention: by its name',
        }),
      }),
    ),
  })
  .meta({ id: 'Agent' })

export const agents = defineResource({
  name: 'agents',
  tag: 'Operator: messages',
  audience: 'operator',
  operations: {
    list: defineOperation({
      method: 'get',
      path: '/admin/agents',
      id: 'listAgents',
      summary: 'The agents and where they are reached',
      scopes: ['admin', 'read'],
      output: z.object({ agents: z.array(agentSchema) }),
      handle: ({ deps }) => ({
        agents: deps.agents.map((agent) => agentWithConnections(agent, deps.gateway.connections)),
      }),
    }),
  },
})

function agentWithConnections(agent: AgentFacts, all: readonly GatewayConnection[]) {
  const domain = all[0]?.connection.domain ?? 'parley.localhost'
  return {
    ...agentToListItem(agent),
    address: formatAddress({ local: agent.slug, domain }),
    connections: all.flatMap((at) => agentReachThroughConnection(agent.slug, at)),
  }
}

type AgentReach = { readonly connection: string; readonly by: 'own' | 'default' | 'mention' }

function agentReachThroughConnection(
  slug: string,
  { key, isShared, connection }: GatewayConnection,
): readonly AgentReach[] {
  if (connection.agent === slug) return [{ connection: key, by: isShared ? 'default' : 'own' }]
  return isShared ? [{ connection: key, by: 'mention' }] : []
}

export const agentsCommands = () =>
  ({
    description: 'Agents of the gateway.',
    examples: ['parley agents'],
    commands: {
      list: {
        name: 'agents',
        description: 'Show the agents: their addresses, and on which connections they answer (own, default, mention).',
        examples: ['parley agents', "parley agents --json | jq '.agents[] | select(.connections == [])'"],
        rows: 'agents',
        columns: {
          AGENT: 'slug',
          ADDRESS: 'address',
          'ANSWERS ON': (agent) =>
            agent.connections.map(({ connection, by }) => `${connection} (${by})`).join(', ') || '-',
          DESCRIPTION: ({ description, label }) => description || label,
        },
        empty: 'No agents.',
      },
    },
  }) as const satisfies ResourceCommands<typeof agents>
