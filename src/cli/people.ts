// Commands about people that take more than one request: every block of a person removed, and the erasure of a person.
import { erasure, grants, grantText } from '../api/people.ts'
import type { OperationOutput } from '../api/resource.ts'
import type { ErasedCounts } from '../db/erase-person.ts'
import { addErasedCounts, noneErased } from '../identity/erase.ts'
import { CommandError, exitCodes } from './command-error.ts'
import { confirmOrAbort, yesArg } from './flags.ts'
import { type AskOperation, operatorCommand } from './operator-command.ts'
import { printableLine, printRemark } from './output.ts'

export const unblockCommand = operatorCommand({
  name: 'unblock',
  description: 'Remove every block of a person. It does not let them in by itself.',
  examples: ['parley grants unblock chat:666'],
  args: {
    subject: { type: 'positional', required: true, description: 'Who, as evidence names them, such as chat:42' },
  },
  async run({ args, ask, show }) {
    const { list, revoke } = grants.operations
    const found = await ask(list, { subject: args.subject, limit: 500 })
    const blocks = found.grants.filter(({ effect }) => effect === 'deny')
    if (blocks.length === 0)
      throw new CommandError(exitCodes.notFound, 'not_found', 'this subject is not blocked; see parley grants list')
    const revoked: OperationOutput<typeof revoke>['grant'][] = []
    for (const { id } of blocks) revoked.push((await ask(revoke, { id })).grant)
    show({ grants: revoked }, revoked.map((grant) => printableLine(`Unblocked: ${grantText(grant)}.`)).join('\n'))
  },
})

export const eraseCommand = operatorCommand({
  name: 'erase',
  description: 'Erase everything that is stored about one person, on every connection. It cannot be undone.',
  examples: [
    'parley erase space:T123/U456 --dry-run',
    'parley erase space:T123/U456',
    'parley erase space:T123/U456 --yes --json',
  ],
  args: {
    principal: {
      type: 'positional',
      required: true,
      description: 'The subject of the person, as the lists show it, or their id in the audit log',
    },
    'dry-run': { type: 'boolean', description: 'Count what there is, and change nothing' },
    ...yesArg,
  },
  async before(args) {
    if (args['dry-run'] === true) return
    await confirmOrAbort(`Erase everything about ${args.principal}, on every connection, for good?`, args.yes)
  },
  async run({ args, ask, show }) {
    const { principal } = args
    if (args['dry-run'] === true) {
      const { removed } = await ask(erasure.operations.erase, { principal, dryRun: true })
      return show(
        { isDone: false, removed },
        formatRemovedCounts(removed, 'There is', `Nothing is stored about ${principal}.`),
      )
    }
    const removed = await eraseAll(ask, principal)
    show({ isDone: true, removed }, formatRemovedCounts(removed, 'Removed', `Nothing was stored about ${principal}.`))
  },
})

/** A piece per request; interrupted, the same command goes on with what is left. */
async function eraseAll(ask: AskOperation, principal: string): Promise<ErasedCounts> {
  let removed = noneErased
  const { erase } = erasure.operations
  let from: OperationOutput<typeof erase>['next'] = null
  do {
    const piece: OperationOutput<typeof erase> = await ask(
      erase,
      { principal, confirm: true, from },
      { timeoutMs: 120_000 },
    )
    removed = addErasedCounts(removed, piece.removed)
    from = piece.next
    if (from !== null) printRemark(`${removed.receipts} messages, ${removed.lines} lines so far …`)
  } while (from !== null)
  return removed
}

const removedKinds: Readonly<Record<keyof ErasedCounts, string>> = {
  receipts: 'messages (their receipts stay, empty, so that a redelivery is known)',
  inFlight: 'of these still waiting or being answered',
  lines: 'lines of transcripts',
  ambientContext: 'messages that rooms remembered',
  conversations: 'conversations',
  sharedConversations: 'conversations with others, which go on without them',
  sessions: 'sessions',
  turns: 'turns, with their runs, journals and logs',
  calls: 'calls to platforms (their receipts stay, empty)',
  unsent: 'calls that had not arrived yet',
  waits: 'approvals and tool requests',
  timers: 'timers',
  attachments: 'files (their bytes go within minutes, unless another sender sent the same)',
  grants: 'grants',
  pairings: 'pairings',
  tokens: 'tokens',
  consents: 'consents',
  tombstones: 'notes about deleted messages',
  chains: 'chains of callers',
  records: 'records of channels about them',
  links: 'links between identities',
  principals: 'names in the audit log (its lines stay, without a name)',
}

function formatRemovedCounts(removed: ErasedCounts, verb: string, none: string): string {
  const found = (Object.keys(removedKinds) as (keyof ErasedCounts)[]).filter((kind) => removed[kind] > 0)
  if (found.length === 0) return none
  return [`${verb}:`, ...found.map((kind) => `${String(removed[kind]).padStart(8)}  ${removedKinds[kind]}`)].join('\n')
}
