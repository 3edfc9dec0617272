// `parley tokens`: who may operate this gateway, who may see what is theirs, who may talk to agents. A token is shown when it is
// made, and never again.
import { type TokenLine, type TokenScope, tokenScopes } from '../identity/tokens.ts'
import { splitCommaList } from '../lib/index.ts'
import { wrongUsage } from './command-error.ts'
import type { Group } from './command-line.ts'
import { confirmOrAbort, expiryMs, yesArg } from './flags.ts'
import { operatorCommand } from './operator-command.ts'
import { formatInstant, formatTable, printableLine } from './output.ts'

const firstToken = 'Besides these the first token is valid: PARLEY_ADMIN_TOKEN, or admin-token in the data folder.'

const tokensListCommand = operatorCommand({
  name: 'list',
  description: 'List the tokens that were made; the tokens themselves are stored nowhere.',
  examples: ['parley tokens list', 'parley tokens list --json'],
  args: {},
  async run({ callGateway, show }) {
    const { tokens } = await callGateway<{ tokens: readonly TokenLine[] }>('GET', '/admin/tokens')
    const lines = formatTable(tokens, [
      { title: 'ID', cell: (line) => line.id },
      { title: 'PREFIX', cell: (line) => line.prefix },
      { title: 'LABEL', cell: (line) => line.label },
      { title: 'SCOPES', cell: (line) => line.scopes.join(',') },
      { title: 'PRINCIPAL', cell: (line) => line.principal },
      { title: 'AGENT', cell: (line) => line.agent },
      { title: 'STATE', cell: (line) => line.state },
      { title: 'CREATED', cell: (line) => formatInstant(line.createdAt) },
      { title: 'LAST USED', cell: (line) => formatInstant(line.lastUsedAt) },
      { title: 'EXPIRES', cell: (line) => formatInstant(line.expiresAt) },
    ])
    show({ tokens }, tokens.length === 0 ? `No tokens were made yet. ${firstToken}` : `${lines}\n\n${firstToken}`)
  },
})

const createCommand = operatorCommand({
  name: 'create',
  description: 'Make a token and print it, this once.',
  examples: [
    'parley tokens create --label "backup job" --expires 30d',
    'parley tokens create --label dashboard --scope read',
    'parley tokens create --label shop --scope run --agent demo --expires 8w',
    'parley tokens create --label "what is mine" --principal space:T1/U2 --json',
  ],
  args: {
    label: { type: 'string', required: true, description: 'What it is for', valueHint: 'text' },
    scope: {
      type: 'string',
      description: `What it opens, several with commas: ${tokenScopes.join(', ')} (default: admin; with --principal: own)`,
      valueHint: 'scope',
    },
    agent: { type: 'string', description: 'The one agent it may talk to (default: every one)', valueHint: 'slug' },
    principal: {
      type: 'string',
      description: 'Speaks for this subject, and is narrowed to what belongs to it',
      valueHint: 'subject',
    },
    workspace: {
      type: 'string',
      description: 'Of this workspace; there is one: tenant:<the name of the tenant>',
      valueHint: 'type:id',
    },
    capability: {
      type: 'string',
      description: 'At most these capabilities, several with commas (default: no list)',
      valueHint: 'name',
    },
    client: { type: 'string', description: 'The application it is given to', valueHint: 'name' },
    expires: {
      type: 'string',
      description: 'Valid for so long: 45m, 12h, 30d, 8w (default: for ever)',
      valueHint: 'time',
    },
  },
  before: (args) => void tokenRequest(args),
  async run({ args, callGateway, show }) {
    const made = await callGateway<TokenLine & { token: string }>('POST', '/admin/tokens', { body: tokenRequest(args) })
    const until = made.expiresAt === null ? 'until it is revoked' : `until ${formatInstant(made.expiresAt)}`
    show(
      made,
      `${made.token}\n\nShown this once; valid ${until}. Revoke it with: parley tokens revoke ${printableLine(made.prefix)}`,
    )
  },
})

const revokeCommand = operatorCommand({
  name: 'revoke',
  description: 'Revoke a token; it counts from the next request on, in every replica.',
  examples: ['parley tokens revoke parley_89abcdef', 'parley tokens revoke parley_89abcdef --yes'],
  args: { id: { type: 'positional', required: true, description: 'Id or prefix, as the list shows it' }, ...yesArg },
  before: (args) => confirmOrAbort(`Revoke token ${args.id}?`, args.yes),
  async run({ args, callGateway, show }) {
    await callGateway('POST', `/admin/tokens/${encodeURIComponent(args.id)}/revoke`)
    show({ ok: true, id: args.id }, 'Revoked.')
  },
})

export const tokensCommands: Group = {
  name: 'tokens',
  description: 'Tokens for operators, for people and for callers of agents.',
  examples: ['parley tokens create --label shop --scope run --agent demo', 'parley tokens list'],
  commands: [tokensListCommand, createCommand, revokeCommand],
}

type CreateArgs = {
  readonly label: string
  readonly scope?: string | undefined
  readonly agent?: string | undefined
  readonly principal?: string | undefined
  readonly workspace?: string | undefined
  readonly capability?: string | undefined
  readonly client?: string | undefined
  readonly expires?: string | undefined
}

/** The flags as the route wants them; what was not given is left to it. */
function tokenRequest({ label, scope, agent, principal, workspace, capability, client, expires }: CreateArgs): object {
  const scopes = scope === undefined ? undefined : parseScopes(scope)
  return {
    label,
    expiresInMs: expiryMs(expires),
    ...(scopes === undefined ? {} : { scopes }),
    ...(agent === undefined ? {} : { agent }),
    ...(principal === undefined ? {} : { principal }),
    ...(workspace === undefined ? {} : { workspace: parseWorkspace(workspace) }),
    ...(capability === undefined ? {} : { allowedCapabilities: splitCommaList(capability) }),
    ...(client === undefined ? {} : { clientId: client }),
  }
}

function parseScopes(text: string): readonly TokenScope[] {
  return splitCommaList(text).map((name) => {
    const scope = tokenScopes.find((known) => known === name)
    if (scope === undefined) throw wrongUsage(`--scope must be among ${tokenScopes.join(', ')}, several with commas`)
    return scope
  })
}

function parseWorkspace(text: string): object {
  const at = text.indexOf(':')
  if (at < 1 || at === text.length - 1) throw wrongUsage('--workspace must be type:id, such as tenant:default')
  return { workspace_type: text.slice(0, at), workspace_id: text.slice(at + 1) }
}
