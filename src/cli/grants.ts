// `parley grants`: who was let in or shut out by name, and what they may do.
import type { GrantLine } from '../db/grants.ts'
import { CommandError, exitCodes } from './command-error.ts'
import type { Group } from './command-line.ts'
import { expiryMs, idPageArgs, idPageQuery, pageFooter } from './flags.ts'
import { type CallGateway, operatorCommand } from './operator-command.ts'
import { formatInstant, formatTable, printableLine } from './output.ts'

type GrantPage = { readonly grants: readonly GrantLine[]; readonly next: string | null }
type Added = { readonly grant: GrantLine; readonly messages: number }

const subjectArg = {
  subject: { type: 'positional', required: true, description: 'Who, as evidence names them, such as chat:42' },
} as const
const placeArgs = {
  connection: { type: 'string', description: 'Only there, as parley stats names it', valueHint: 'channel/id' },
  agent: { type: 'string', description: 'Only with this agent', valueHint: 'slug' },
  expires: { type: 'string', description: 'For so long: 45m, 12h, 30d, 8w (default: for ever)', valueHint: 'time' },
} as const

const grantsListCommand = operatorCommand({
  name: 'list',
  description: 'List grants that count now, newest first.',
  examples: ['parley grants list', 'parley grants list --subject chat:42 --state all'],
  args: {
    subject: { type: 'string', description: 'Only about this one', valueHint: 'subject' },
    state: { type: 'enum', options: ['active', 'all'], default: 'active', description: 'all: also what is over' },
    ...idPageArgs,
  },
  before: (args) => void idPageQuery(args, {}),
  async run({ args, callGateway, show }) {
    const query = idPageQuery(args, { subject: args.subject, state: args.state })
    const page = await callGateway<GrantPage>('GET', `/admin/grants?${query}`)
    const lines = formatTable(page.grants, [
      { title: 'ID', cell: (line) => line.id },
      { title: 'WHO', cell: (line) => line.subject },
      { title: 'EFFECT', cell: (line) => line.effect },
      { title: 'ROLE', cell: (line) => line.role },
      { title: 'CONNECTION', cell: (line) => line.connection },
      { title: 'AGENT', cell: (line) => line.agent },
      { title: 'STATE', cell: (line) => line.state },
      { title: 'BY', cell: (line) => `${line.createdBy} (${line.source})` },
      { title: 'EXPIRES', cell: (line) => formatInstant(line.expiresAt) },
    ])
    const more = pageFooter(page.next, `parley grants list --state ${args.state ?? 'active'}`)
    show(page, page.grants.length === 0 ? 'None.' : `${lines}${more}`)
  },
})

const addCommand = operatorCommand({
  name: 'add',
  description: 'Let a person in by name, with a role if they are to have one. Messages held for them are answered.',
  examples: ['parley grants add chat:42', 'parley grants add chat:42 --role admin --agent demo --expires 30d'],
  args: {
    ...subjectArg,
    role: {
      type: 'enum',
      options: ['viewer', 'operator', 'admin'],
      description: 'viewer may not speak; operator and admin may stop runs and decide; admin may let people in',
    },
    ...placeArgs,
    workspace: {
      type: 'string',
      description: 'Only in this workspace; there is one, named after the tenant',
      valueHint: 'id',
    },
  },
  before: ({ expires }) => void expiryMs(expires),
  async run({ args, callGateway, show }) {
    const more = { effect: 'allow', role: args.role ?? null, workspaceId: args.workspace ?? null }
    const body = { subject: args.subject, ...more, ...grantScope(args) }
    const added = await callGateway<Added>('POST', '/admin/grants', { body })
    show(
      added,
      `Granted: ${grantText(added.grant)}.${heldMessagesText(added.messages)} Revoke it with: parley grants revoke ${printableLine(added.grant.id)}`,
    )
  },
})

const revokeCommand = operatorCommand({
  name: 'revoke',
  description: 'Take a grant back; it counts from the next decision on, in every replica.',
  examples: ['parley grants revoke 0192f1c2-7d5e-7abc-8def-0123456789ab'],
  args: { id: { type: 'positional', required: true, description: 'Id of a grant, as the list shows it' } },
  async run({ args, callGateway, show }) {
    const answer = await requestRevoke(callGateway, args.id)
    show(answer, `Revoked: ${grantText(answer.grant)}.`)
  },
})

const blockCommand = operatorCommand({
  name: 'block',
  description: 'Block a person, whatever else lets them in.',
  examples: ['parley grants block chat:666', 'parley grants block chat:666 --connection chat/default'],
  args: { ...subjectArg, ...placeArgs },
  before: ({ expires }) => void expiryMs(expires),
  async run({ args, callGateway, show }) {
    const body = { subject: args.subject, effect: 'deny', ...grantScope(args) }
    const added = await callGateway<Added>('POST', '/admin/grants', { body })
    show(
      added,
      `Blocked: ${grantText(added.grant)}. Undo it with: parley grants unblock ${printableLine(args.subject)}`,
    )
  },
})

const unblockCommand = operatorCommand({
  name: 'unblock',
  description: 'Remove every block of a person. It does not let them in by itself.',
  examples: ['parley grants unblock chat:666'],
  args: subjectArg,
  async run({ args, callGateway, show }) {
    const query = new URLSearchParams({ subject: args.subject, limit: '500' })
    const { grants } = await callGateway<GrantPage>('GET', `/admin/grants?${query}`)
    const blocks = grants.filter(({ effect }) => effect === 'deny')
    if (blocks.length === 0)
      throw new CommandError(exitCodes.notFound, 'not_found', 'this subject is not blocked; see parley grants list')
    const revoked: GrantLine[] = []
    for (const { id } of blocks) revoked.push((await requestRevoke(callGateway, id)).grant)
    show({ grants: revoked }, revoked.map((grant) => `Unblocked: ${grantText(grant)}.`).join('\n'))
  },
})

function requestRevoke(callGateway: CallGateway, id: string): Promise<{ readonly grant: GrantLine }> {
  return callGateway('POST', `/admin/grants/${encodeURIComponent(id)}/revoke`)
}

type GrantScopeFlags = {
  readonly connection?: string | undefined
  readonly agent?: string | undefined
  readonly expires?: string | undefined
}

function grantScope({ connection, agent, expires }: GrantScopeFlags): object {
  return { connection: connection ?? null, agent: agent ?? null, expiresInMs: expiryMs(expires) }
}

function grantText({ subject, role, connection, agent, expiresAt }: GrantLine): string {
  const as = role === null ? '' : ` as ${role}`
  const where = connection === null ? '' : ` on ${connection}`
  const to = agent === null ? '' : ` with the agent ${agent}`
  const until = expiresAt === null ? '' : ` until ${formatInstant(expiresAt)}`
  return printableLine(`${subject}${as}${where}${to}${until}`)
}

function heldMessagesText(messages: number): string {
  if (messages === 0) return ''
  return messages === 1 ? ' 1 message that was held goes on.' : ` ${messages} messages that were held go on.`
}

export const grantsCommands: Group = {
  name: 'grants',
  description: 'Who was let in or shut out by name, and what they may do.',
  examples: ['parley grants add chat:42 --role admin', 'parley grants block chat:666'],
  commands: [grantsListCommand, addCommand, revokeCommand, blockCommand, unblockCommand],
}
