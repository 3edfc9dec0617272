// Tokens and keys: listed, created, revoked, rotated. The answer to a creation is the only place a token is ever shown.
import * as z from 'zod'
import { isNamespacedSubject } from '../contract/mint-evidence.ts'
import { readWorkspaceScope, type WorkspaceScope, workspaceKey } from '../contract/workspace-scope.ts'
import { type TokenScope, tokenScopes } from '../db/tokens.ts'
import { createToken } from '../identity/tokens.ts'
import { cleanText } from '../lib/clean-text.ts'
import { GatewayError } from '../lib/errors.ts'
import { createUuidV7Source } from '../lib/ids.ts'
import { sha256Hex } from '../lib/index.ts'
import { actorName, auditCallerAction } from './admin-access.ts'
import { formatInstant, type ResourceCommands } from './command.ts'
import type { AppDeps } from './deps.ts'
import { secretKinds } from './own-secrets.ts'
import { defineOperation, defineResource, done, doneSchema, instantSchema } from './resource.ts'

const maxLifeMs = 10 * 365 * 24 * 60 * 60_000

const labelSchema = z
  .string()
  .transform((text) => cleanText(text).replace(/\s+/g, ' ').trim())
  .pipe(z.string().min(1).max(100))

const workspaceSchema = z.strictObject({ workspace_type: z.string().max(100), workspace_id: z.string().max(200) })

const tokenSchema = z
  .object({
    id: z.uuid(),
    prefix: z.string().meta({ description: 'What the token begins with' }),
    label: z.string(),
    scopes: z.array(z.enum(tokenScopes)),
    principal: z.string().nullable(),
    agent: z.string().nullable(),
    workspace: z.object({ workspace_type: z.string(), workspace_id: z.string() }).nullable(),
    allowedCapabilities: z.array(z.string()).nullable(),
    clientId: z.string().nullable(),
    state: z.enum(['active', 'expired', 'revoked']),
    createdBy: z.string().nullable(),
    createdAt: instantSchema,
    lastUsedAt: instantSchema.nullable().meta({ description: 'Refreshed once in a few minutes at most' }),
    expiresAt: instantSchema.nullable(),
    revokedAt: instantSchema.nullable(),
  })
  .meta({ id: 'Token', description: 'A token that was made, without its secret' })

const tokenIdSchema = z.string().transform((given, issues) => {
  // An id, a prefix as the list shows it, or its digits.
  const meant = /^(?:parley_)?([0-9a-f]{8})$|^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/.exec(given)
  const id = meant?.[1] ?? meant?.[2]
  if (id !== undefined) return id
  issues.addIssue('must be the id or the prefix of a token, not the token itself')
  return z.NEVER
})

export const tokens = defineResource({
  name: 'tokens',
  tag: 'Operator: people',
  audience: 'operator',
  operations: {
    list: defineOperation({
      method: 'get',
      path: '/admin/tokens',
      id: 'listTokens',
      summary: 'Lists tokens, never their secret',
      scopes: ['admin', 'read'],
      output: z.object({ tokens: z.array(tokenSchema) }),
      handle: async ({ deps }) => ({ tokens: await deps.tokens.list() }),
    }),
    create: defineOperation({
      method: 'post',
      path: '/admin/tokens',
      id: 'createToken',
      summary: 'Makes a token; the answer is the only place it is shown',
      body: {
        schema: z.strictObject({
          label: labelSchema.meta({ description: 'What it is for' }),
          scopes: z
            .array(z.enum(tokenScopes))
            .min(1)
            .optional()
            .meta({ description: 'What it opens; without it: admin, with a principal: own' }),
          principal: z
            .string()
            .trim()
            .max(500)
            .refine(isNamespacedSubject)
            .nullable()
            .default(null)
            .meta({ description: 'Speaks for this subject, and is narrowed to what belongs to it' }),
          agent: z
            .string()
            .trim()
            .min(1)
            .nullable()
            .default(null)
            .meta({ description: 'The one agent it may talk to (default: every one)' }),
          workspace: workspaceSchema
            .nullable()
            .default(null)
            .meta({ description: 'Of this workspace; there is one: tenant:<the name of the tenant>' }),
          allowedCapabilities: z
            .array(z.string().regex(/^[\w:.-]{1,100}$/))
            .max(64)
            .nullable()
            .default(null)
            .meta({ description: 'At most these capabilities (default: no list)' }),
          clientId: labelSchema.nullable().default(null).meta({ description: 'The application it is given to' }),
          expiresInMs: z
            .number()
            .int()
            .positive()
            .max(maxLifeMs)
            .nullable()
            .default(null)
            .meta({ description: 'Valid for so long; null: for ever' }),
        }),
        maxBytes: 8192,
        remedy: `send {"label": "…"} as JSON; optional are "scopes" (of ${tokenScopes.join(', ')}), "principal" (such as "space:T1/U2"), "agent", "workspace" ({"workspace_type", "workspace_id"}), "allowedCapabilities", "clientId" and "expiresInMs"`,
        example: { label: 'shop', scopes: ['run'] },
      },
      returns: 'The token',
      output: tokenSchema
        .extend({ token: z.string().meta({ description: 'Shown this once' }) })
        .meta({ id: 'NewToken' }),
      async handle({ deps, context, body: { scopes: asked, workspace, ...wish } }) {
        const scopes = [...new Set<TokenScope>(asked ?? [wish.principal === null ? 'admin' : 'own'])]
        const own = { workspace_type: 'tenant', workspace_id: deps.gateway.db.tenant }
        const problem =
          scopeProblem(scopes, wish.principal) ??
          unknownAgentProblem(deps, wish.agent) ??
          foreignWorkspaceProblem(own, workspace)
        if (problem !== undefined) throw new GatewayError('bad_request', problem)
        const fillRandom = (bytes: Uint8Array<ArrayBuffer>): void => void crypto.getRandomValues(bytes)
        const { token, line } = await createToken(
          { tokens: deps.tokens, newId: createUuidV7Source(deps.now, fillRandom), fillRandom, hash: sha256Hex },
          { ...wish, scopes, workspace: own, createdBy: actorName(context) },
        )
        const about = { objectId: line.id, detail: { scopes: [...line.scopes] } }
        await auditCallerAction(deps, context, { action: 'token.create', outcome: 'done', ...about })
        return { token: token.reveal(), ...line }
      },
    }),
    revoke: defineOperation({
      method: 'post',
      path: '/admin/tokens/:id/revoke',
      id: 'revokeToken',
      summary: 'Takes a token back, everywhere at once',
      params: { id: tokenIdSchema.meta({ description: 'Its id, or what it begins with' }) },
      output: doneSchema,
      problems: [404, 409],
      async handle({ deps, context, params: { id } }) {
        const { kind } = await deps.tokens.revoke(id)
        const outcome = kind === 'revoked' ? { outcome: 'done' } : { outcome: 'refused', code: kind }
        await auditCallerAction(deps, context, { action: 'token.revoke', ...outcome, objectId: id })
        if (kind === 'revoked') return done
        throw kind === 'ambiguous'
          ? new GatewayError('conflict', 'two tokens begin like this; give the whole id, as GET /admin/tokens shows it')
          : new GatewayError('not_found', 'no such token that is not revoked already; list them with GET /admin/tokens')
      },
    }),
  },
})

function scopeProblem(scopes: readonly TokenScope[], principal: string | null): string | undefined {
  if (principal === null)
    return scopes.includes('own') ? 'the scope own needs the principal whose things it shows' : undefined
  return scopes.includes('read')
    ? 'the scope read is for operators; with a principal use own, which shows what is theirs'
    : undefined
}

function unknownAgentProblem({ agents }: Pick<AppDeps, 'agents'>, agent: string | null): string | undefined {
  if (agent === null || agents.some(({ slug }) => slug === agent)) return undefined
  return `agent must be one that is configured: ${agents.map(({ slug }) => slug).join(', ')}`
}

/** Everything here belongs to the tenant's own workspace: a token of another one would show its holder nothing. */
function foreignWorkspaceProblem(own: WorkspaceScope, asked: WorkspaceScope | null): string | undefined {
  if (asked === null || workspaceKey(readWorkspaceScope(asked)) === workspaceKey(own)) return undefined
  return `nothing here belongs to that workspace; leave workspace out, or give the only one there is: ${workspaceKey(own)}`
}

const firstToken = 'Besides these the first token is valid: PARLEY_ADMIN_TOKEN, or admin-token in the data folder.'

export const tokensCommands = () =>
  ({
    description: 'Tokens for operators, for people and for callers of agents.',
    examples: ['parley tokens create --label shop --scope run --agent demo', 'parley tokens list'],
    commands: {
      list: {
        name: 'list',
        description: 'List the tokens that were made; the tokens themselves are stored nowhere.',
        examples: ['parley tokens list', 'parley tokens list --json'],
        rows: 'tokens',
        columns: {
          ID: 'id',
          PREFIX: 'prefix',
          LABEL: 'label',
          SCOPES: ({ scopes }) => scopes.join(','),
          PRINCIPAL: 'principal',
          AGENT: 'agent',
          STATE: 'state',
          CREATED: 'createdAt',
          'LAST USED': 'lastUsedAt',
          EXPIRES: 'expiresAt',
        },
        empty: `No tokens were made yet. ${firstToken}`,
        foot: () => [firstToken],
      },
      create: {
        name: 'create',
        description: 'Make a token and print it, this once.',
        examples: [
          'parley tokens create --label "backup job" --expires 30d',
          'parley tokens create --label dashboard --scope read',
          'parley tokens create --label shop --scope run --agent demo --expires 8w',
          'parley tokens create --label "what is mine" --principal space:T1/U2 --json',
        ],
        flags: {
          label: { valueHint: 'text' },
          scopes: {
            flag: 'scope',
            as: 'list',
            valueHint: 'scope',
            description: `What it opens, several with commas: ${tokenScopes.join(', ')} (default: admin; with --principal: own)`,
          },
          agent: { valueHint: 'slug' },
          principal: { valueHint: 'subject' },
          workspace: { valueHint: 'type:id', parse: parseWorkspace },
          allowedCapabilities: {
            flag: 'capability',
            as: 'list',
            valueHint: 'name',
            description: 'At most these capabilities, several with commas (default: no list)',
          },
          clientId: { flag: 'client', valueHint: 'name' },
          expiresInMs: {
            flag: 'expires',
            as: 'duration',
            valueHint: 'time',
            description: 'Valid for so long: 45m, 12h, 30d, 8w (default: for ever)',
          },
        },
        text: ({ token, expiresAt, prefix }) => [
          token,
          '',
          `Shown this once; valid ${expiresAt === null ? 'until it is revoked' : `until ${formatInstant(expiresAt)}`}. Revoke it with: parley tokens revoke ${prefix}`,
        ],
      },
      revoke: {
        name: 'revoke',
        description: 'Revoke a token; it counts from the next request on, in every replica.',
        examples: ['parley tokens revoke parley_89abcdef', 'parley tokens revoke parley_89abcdef --yes'],
        about: { id: 'Id or prefix, as the list shows it' },
        confirm: ({ id }) => `Revoke token ${id}?`,
        text: () => 'Revoked.',
      },
    },
  }) as const satisfies ResourceCommands<typeof tokens>

function parseWorkspace(text: string): z.input<typeof workspaceSchema> {
  const at = text.indexOf(':')
  if (at < 1 || at === text.length - 1) throw new GatewayError('bad_request', 'must be type:id, such as tenant:default')
  return { workspace_type: text.slice(0, at), workspace_id: text.slice(at + 1) }
}

// The gateway's own keys: listed, rotated, and everything sealed anew.

const secretSchema = z
  .object({
    name: z.string(),
    kind: z.enum(secretKinds.map(({ kind }) => kind)),
    protects: z.string(),
    old: z.string().meta({ description: 'What becomes of the one before when there is a new one' }),
    place: z.string().meta({ description: 'Where it is kept' }),
    since: instantSchema.nullable().meta({ description: 'null: not known, or made when it is first needed' }),
    isRotated: z.boolean().meta({ description: 'false: it is set by a variable, and changed there' }),
  })
  .meta({ id: 'Secret', description: 'A key or token the gateway made for itself; never its value' })

export const secrets = defineResource({
  name: 'secrets',
  tag: 'Operator: secrets',
  audience: 'operator',
  // Where there is no folder to keep them in, the one key is a secret of the platform.
  isServed: (deps) => deps.secrets !== undefined,
  operations: {
    list: defineOperation({
      method: 'get',
      path: '/admin/secrets',
      id: 'listSecrets',
      summary: 'Lists the gateway’s own keys; shows none',
      output: z.object({ secrets: z.array(secretSchema) }),
      handle: async ({ deps }) => ({ secrets: await requireSecretService(deps).list() }),
    }),
    rotate: defineOperation({
      method: 'post',
      path: '/admin/secrets/rotate',
      id: 'rotateSecret',
      summary: 'Makes a new key in place of one',
      body: {
        schema: z.object({ name: z.string().max(300) }),
        maxBytes: 4096,
        remedy: 'send {"name": "…"}, as GET /admin/secrets lists it',
        example: { name: 'file-handles' },
      },
      returns: 'Done; a new token is shown this once',
      output: z.object({
        name: z.string(),
        token: z.string().optional().meta({ description: 'Shown this once' }),
        note: z.string().optional().meta({ description: 'What is left for the operator to do' }),
      }),
      problems: [400, 404],
      async handle({ deps, context, body: { name } }) {
        const rotated = await requireSecretService(deps).rotate(name, actorName(context))
        await auditCallerAction(deps, context, { action: 'secret.rotate', outcome: 'done', objectId: name })
        return rotated
      },
    }),
    reseal: defineOperation({
      method: 'post',
      path: '/admin/secrets/reseal',
      id: 'resealSecrets',
      summary: 'Seals anew what an older key sealed',
      returns: 'How many rows; whether that was all',
      output: z.object({
        resealed: z.number().int(),
        unopened: z.number().int().meta({ description: 'Sealed by a key that is not known here' }),
        isDone: z.boolean(),
      }),
      handle: ({ deps }) => requireSecretService(deps).reseal(),
    }),
  },
})

function requireSecretService({ secrets: service }: Pick<AppDeps, 'secrets'>): NonNullable<AppDeps['secrets']> {
  if (service === undefined) throw new GatewayError('not_found', 'this gateway has no folder to keep keys in')
  return service
}

export const secretsCommands = () =>
  ({
    description: 'Keys and tokens that the gateway makes for itself.',
    examples: ['parley secrets list', 'parley secrets rotate --all --yes'],
    commands: {
      list: {
        name: 'list',
        description:
          'List the keys and tokens of this gateway: what each protects, since when, where it is kept. None is shown.',
        examples: ['parley secrets list', 'parley secrets list --json'],
        rows: 'secrets',
        columns: { NAME: 'name', SINCE: 'since', 'KEPT IN': 'place', PROTECTS: 'protects', 'THE ONE BEFORE': 'old' },
        empty: 'None.',
      },
    },
  }) as const satisfies ResourceCommands<typeof secrets>
