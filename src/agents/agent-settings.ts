// Settings that every agent may declare, model or function, and the check that nothing else was meant.
import * as z from 'zod'
import { accessSchema } from '../contract/access.ts'
import type { Starter } from '../contract/capabilities.ts'
import type { AgentSkill } from '../contract/channel.ts'
import type { AccessRule } from '../contract/index.ts'
import { GatewayError } from '../lib/errors.ts'

/** What becomes of a message that comes while the agent is busy in the same conversation. */
export type BusyPolicy = (typeof busyPolicies)[number]

/** Where an agent comes from, for readers of the list of agents. */
export type Provenance = {
  readonly sourceType?: string
  readonly sourcePackage?: string
  readonly sourceVersion?: string
  readonly sourceRef?: string
}

export type AgentFacts = {
  /** Its name everywhere: lower-case letters, digits and dashes. */
  readonly slug: string
  readonly label?: string
  readonly description?: string
  /** What it can be asked, in its own words; told by /help behind the gateway's commands. */
  readonly help?: string
  /** What people might ask it, offered where the platform shows such things before the first message. */
  readonly starters?: readonly Starter[]
  /** `queue` unless told: it waits for the next turn. */
  readonly busy?: BusyPolicy
  /** False: messages that come while it works are not marked as received. */
  readonly receipts?: boolean
  /** Who may speak to it. It can only narrow what the connection allows. */
  readonly access?: AccessRule
  readonly provenance?: Provenance
  /** What it can be asked for, as directories of agents list it. Without it: one per tool. */
  readonly skills?: readonly AgentSkill[]
  /** Slugs of the agents it may ask. Without it a function may ask all of them, a model none. */
  readonly agentCalls?: readonly string[]
}

const busyPolicies = ['queue', 'steer', 'interrupt'] as const

const factsSchema = z.object({
  slug: z.string().regex(/^[a-z0-9][a-z0-9-]*$/, 'must be lower-case letters, digits and dashes'),
  label: z.string('must be a text').optional(),
  description: z.string('must be a text').optional(),
  help: z.string('must be a text').optional(),
  starters: z
    .array(
      z.strictObject({
        title: z.string().trim().min(1, 'must not be empty').max(75, 'must be at most 75 characters'),
        message: z.string().trim().min(1, 'must not be empty').max(2000, 'must be at most 2,000 characters'),
      }),
      'must be a list of { title, message }',
    )
    .max(10, 'must be at most ten')
    .optional(),
  busy: z.enum(busyPolicies, `must be one of ${busyPolicies.join(', ')}`).optional(),
  receipts: z.boolean('must be true or false').optional(),
  access: accessSchema.optional(),
  provenance: z
    .strictObject({
      sourceType: z.string().optional(),
      sourcePackage: z.string().optional(),
      sourceVersion: z.string().optional(),
      sourceRef: z.string().optional(),
    })
    .optional(),
  skills: z
    .array(
      z.strictObject({
        id: z.string().min(1),
        name: z.string().min(1),
        description: z.string().min(1),
        tags: z.array(z.string()).min(1),
        examples: z.array(z.string()).optional(),
      }),
    )
    .optional(),
  agentCalls: z.array(z.string(), 'must be a list of slugs').optional(),
})

// A new fact that is forgotten here does not compile.
const factKeys = Object.keys({
  slug: 1,
  label: 1,
  description: 1,
  help: 1,
  starters: 1,
  busy: 1,
  receipts: 1,
  access: 1,
  provenance: 1,
  skills: 1,
  agentCalls: 1,
} satisfies Record<keyof AgentFacts, 1>)

/** Throws `config_invalid` with everything that is wrong; `ownKeys` are those of this kind of agent. */
export function parseCommonAgentSettings(definition: object, ownKeys: readonly string[]): AgentFacts {
  const read = factsSchema.safeParse(definition)
  const slug = 'slug' in definition ? String(definition.slug).slice(0, 64) : '(no slug)'
  const known = [...factKeys, ...ownKeys]
  const problems = [
    ...(read.error?.issues ?? []).map(({ path, message }) => `${path.join('.')} ${message}`),
    ...Object.keys(definition)
      .filter((key) => !known.includes(key))
      .map((key) => `unknown key "${key.slice(0, 64)}"; known are ${known.join(', ')}`),
  ]
  if (!read.success || problems.length > 0) throw invalidAgentError(slug, problems)
  // Parsed by the schema above; absent keys stay absent.
  return read.data as AgentFacts
}

export function invalidAgentError(slug: string, problems: readonly string[]): GatewayError {
  return new GatewayError('config_invalid', `[agent] "${slug}": ${problems.join('; ')}`)
}

/** An agent as a list shows it, in the field names of agents-api. Nothing secret, nothing of what it says. */
export function agentToListItem({ slug, label, description, busy, access, provenance, agentCalls }: AgentFacts) {
  const { sourceType, sourcePackage, sourceVersion, sourceRef } = provenance ?? {}
  return {
    slug,
    label: label ?? slug,
    description: description ?? '',
    busy: busy ?? 'queue',
    access: access?.mode ?? null,
    source_type: sourceType ?? null,
    source_package: sourcePackage ?? null,
    source_version: sourceVersion ?? null,
    source_ref: sourceRef ?? null,
    agent_calls: agentCalls ?? null,
  }
}
