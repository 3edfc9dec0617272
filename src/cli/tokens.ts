// `parley tokens`: who may operate this gateway, and who may see what is theirs. A token is shown when it is made, and never again.
import type { TokenLine } from '../identity/token-store.ts'
import type { Group } from './command.ts'
import { confirm, yesArg } from './confirm.ts'
import { wrongUsage } from './exit.ts'
import { operatorCommand } from './operator.ts'
import { instant, table } from './output.ts'

const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const
const firstToken = 'Besides these the first token is valid: PARLEY_ADMIN_TOKEN, or admin-token in the data folder.'

const listCommand = operatorCommand({
  name: 'list',
  description: 'List the tokens that were made; the tokens themselves are stored nowhere.',
  examples: ['parley tokens list', 'parley tokens list --json'],
  args: {},
  async run({ callGateway, show }) {
    const { tokens } = await callGateway<{ tokens: readonly TokenLine[] }>('GET', '/admin/tokens')
    const lines = table(tokens, [
      { title: 'ID', cell: (line) => line.id },
      { title: 'PREFIX', cell: (line) => line.prefix },
      { title: 'LABEL', cell: (line) => line.label },
      { title: 'SCOPES', cell: (line) => line.scopes.join(',') },
      { title: 'PRINCIPAL', cell: (line) => line.principal },
      { title: 'STATE', cell: (line) => line.state },
      { title: 'CREATED', cell: (line) => instant(line.createdAt) },
      { title: 'LAST USED', cell: (line) => instant(line.lastUsedAt) },
      { title: 'EXPIRES', cell: (line) => instant(line.expiresAt) },
    ])
    show({ tokens }, tokens.length === 0 ? `No tokens were made yet. ${firstToken}` : `${lines}\n\n${firstToken}`)
  },
})

const createCommand = operatorCommand({
  name: 'create',
  description: 'Make a token for the operator routes and print it, this once.',
  examples: ['parley tokens create --label "backup job" --expires 30d', 'parley tokens create --label ci --json'],
  args: {
    label: { type: 'string', required: true, description: 'What it is for', valueHint: 'text' },
    expires: {
      type: 'string',
      description: 'Valid for so long: 45m, 12h, 30d, 8w (default: for ever)',
      valueHint: 'time',
    },
    principal: {
      type: 'string',
      description: 'Not for an operator: shows only what belongs to this subject',
      valueHint: 'subject',
    },
  },
  before: ({ expires }) => void lifeOf(expires),
  async run({ args, callGateway, show }) {
    const principal = args.principal === undefined ? {} : { principal: args.principal }
    const body = { label: args.label, expiresInMs: lifeOf(args.expires), ...principal }
    const made = await callGateway<TokenLine & { token: string }>('POST', '/admin/tokens', { body })
    const until = made.expiresAt === null ? 'until it is revoked' : `until ${instant(made.expiresAt)}`
    show(made, `${made.token}\n\nShown this once; valid ${until}. Revoke it with: parley tokens revoke ${made.prefix}`)
  },
})

const revokeCommand = operatorCommand({
  name: 'revoke',
  description: 'Revoke a token; it counts from the next request on, in every replica.',
  examples: ['parley tokens revoke parley_89abcdef', 'parley tokens revoke parley_89abcdef --yes'],
  args: { id: { type: 'positional', required: true, description: 'Id or prefix, as the list shows it' }, ...yesArg },
  before: (args) => confirm(`Revoke token ${args.id}?`, args.yes),
  async run({ args, callGateway, show }) {
    await callGateway('POST', `/admin/tokens/${encodeURIComponent(args.id)}/revoke`)
    show({ ok: true, id: args.id }, 'Revoked.')
  },
})

export const tokensCommands: Group = {
  name: 'tokens',
  description: 'Tokens for the operator routes.',
  examples: ['parley tokens create --label "backup job" --expires 30d', 'parley tokens list'],
  commands: [listCommand, createCommand, revokeCommand],
}

function lifeOf(text: string | undefined): number | null {
  if (text === undefined) return null
  const [, count = '', unit = ''] = /^(\d{1,5})([mhdw])$/.exec(text) ?? []
  if (!(unit in unitMs) || Number(count) === 0)
    throw wrongUsage('--expires must be a number with m, h, d or w after it, such as 30d')
  return Number(count) * unitMs[unit as keyof typeof unitMs]
}
