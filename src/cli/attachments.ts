// `parley attachments`: the files people sent and agents made, by descriptor. Their bytes are not shown here.
import type { AttachmentDescriptor } from '../files/attachment.ts'
import type { Group } from './command-line.ts'
import { confirmOrAbort, idPageArgs, idPageQuery, pageFooter, yesArg } from './flags.ts'
import { operatorCommand } from './operator-command.ts'
import { formatInstant, formatTable, printableLine } from './output.ts'

type AttachmentPage = { readonly attachments: readonly AttachmentDescriptor[]; readonly next: string | null }

const example = '0192f1c2-7d5e-7abc-8def-0123456789ab'
const idArg = {
  id: { type: 'positional', required: true, description: 'Id of a file, as the list shows it' },
} as const

const attachmentsListCommand = operatorCommand({
  name: 'list',
  description: 'List files, newest first.',
  examples: ['parley attachments list', 'parley attachments list --limit 100 --json'],
  args: idPageArgs,
  before: (args) => void idPageQuery(args, {}),
  async run({ args, callGateway, show }) {
    const page = await callGateway<AttachmentPage>('GET', `/admin/attachments?${idPageQuery(args, {})}`)
    const lines = formatTable(page.attachments, [
      { title: 'ID', cell: (file) => file.id },
      { title: 'STATUS', cell: (file) => file.status },
      { title: 'TYPE', cell: (file) => file.mimeType },
      { title: 'BYTES', cell: (file) => file.size },
      { title: 'OWNER', cell: (file) => file.owner.principal },
      { title: 'VIA', cell: (file) => file.origin.receivedVia },
      { title: 'SINCE', cell: (file) => formatInstant(file.createdAt) },
      { title: 'NAME', cell: (file) => file.name },
    ])
    const more = pageFooter(page.next, 'parley attachments list')
    show(page, page.attachments.length === 0 ? 'No files.' : `${lines}${more}`)
  },
})

const showCommand = operatorCommand({
  name: 'show',
  description: 'Show whose a file is, what it is and where its bytes are.',
  examples: [`parley attachments show ${example}`],
  args: idArg,
  async run({ args, callGateway, show }) {
    const path = `/admin/attachments/${encodeURIComponent(args.id)}`
    const shown = await callGateway<{ attachment: AttachmentDescriptor }>('GET', path)
    const { owner, origin, ...facts } = shown.attachment
    const lines = Object.entries({ ...facts, ...owner, ...origin }).map(
      ([name, value]) => `${name.padEnd(12)} ${printableLine(String(value ?? '-'))}`,
    )
    show(shown, lines.join('\n'))
  },
})

const deleteCommand = operatorCommand({
  name: 'delete',
  description: 'Delete a file: it cannot be read any more, and its bytes go unless another sender sent the same.',
  examples: [`parley attachments delete ${example} --yes`],
  args: { ...idArg, ...yesArg },
  before: (args) => confirmOrAbort(`Delete the file ${args.id} for good?`, args.yes),
  async run({ args, callGateway, show, isOffline }) {
    await callGateway('DELETE', `/admin/attachments/${encodeURIComponent(args.id)}`)
    const when = isOffline ? 'once a gateway runs' : 'within minutes'
    show({ ok: true, id: args.id }, `Deleted. Its bytes go ${when}.`)
  },
})

const rotateKeyCommand = operatorCommand({
  name: 'rotate-key',
  description: 'Sign handles with a new key; those signed with the old one end within the hour.',
  examples: ['parley attachments rotate-key'],
  args: {},
  async run({ callGateway, show }) {
    await callGateway('POST', '/admin/attachments/rotate-key')
    show({ ok: true }, 'Handles are signed with a new key from now on.')
  },
})

export const attachmentsCommands: Group = {
  name: 'attachments',
  description: 'Files that people sent and agents made.',
  examples: ['parley attachments list', `parley attachments show ${example}`],
  commands: [attachmentsListCommand, showCommand, deleteCommand, rotateKeyCommand],
}
