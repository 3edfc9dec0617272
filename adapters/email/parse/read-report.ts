// Reports about a mail of ours: what became of it (RFC 3464), that its recipient complained (RFC 5965), that it was shown (RFC 8098).
import type { MailReport } from '../wire/judged.ts'
import type { PartText } from './read-text.ts'
import type { Leaf, MailPart } from './scan-parts.ts'

type ReportedRecipient = MailReport['recipients'][number]
type Fields = ReadonlyMap<string, string>

const kinds: Readonly<Record<string, MailReport['kind']>> = {
  'message/delivery-status': 'delivery',
  'message/global-delivery-status': 'delivery',
  'message/feedback-report': 'complaint',
  'message/disposition-notification': 'receipt',
  'message/global-disposition-notification': 'receipt',
}
const enclosed = new Set(['message/rfc822', 'message/global', 'text/rfc822-headers', 'message/global-headers'])
const actions = new Set(['failed', 'delayed', 'delivered', 'relayed', 'expanded'])
const maxRecipients = 50
const maxFieldLength = 1_000
const maxReportLength = 128 * 1024

/** Only a mail that is a report as a whole is one: a bounce that a person forwards is what they say. */
export async function readReport(
  root: MailPart,
  read: (leaf: Leaf) => Promise<PartText>,
): Promise<MailReport | undefined> {
  if (root.kind !== 'multipart' || root.subtype !== 'report') return undefined
  const leaves = root.children.filter((child) => child.kind === 'leaf')
  const status = leaves.find(({ head }) => kinds[head.type.value] !== undefined)
  const kind = kinds[status?.head.type.value ?? '']
  if (status === undefined || kind === undefined) return undefined
  const groups = fieldGroups((await read(status)).text)
  const original = leaves.find(({ head }) => enclosed.has(head.type.value))
  const head = original === undefined ? undefined : fieldGroups((await read(original)).text)[0]
  const all: Fields = new Map(groups.flatMap((group) => [...group]))
  return {
    kind,
    recipients: reportedRecipients(kind, groups, all),
    about: reportedMessageId(head?.get('message-id')) ?? reportedMessageId(all.get('original-message-id')),
  }
}

function reportedRecipients(
  kind: MailReport['kind'],
  groups: readonly Fields[],
  all: Fields,
): readonly ReportedRecipient[] {
  if (kind === 'delivery')
    return groups
      .filter((group) => group.has('final-recipient') || group.has('original-recipient'))
      .slice(0, maxRecipients)
      .map(reportedRecipient)
  const address = reportedAddress(
    all.get('original-rcpt-to') ?? all.get('final-recipient') ?? all.get('original-recipient'),
  )
  return address === undefined ? [] : [{ address, action: undefined, status: undefined, diagnostic: undefined }]
}

function reportedRecipient(fields: Fields): ReportedRecipient {
  const action =
    fields
      .get('action')
      ?.toLowerCase()
      .split(/[\s;(]/, 1)[0] ?? ''
  return {
    // What we wrote to is the original one; the final one may be where it was forwarded to.
    address: reportedAddress(fields.get('original-recipient')) ?? reportedAddress(fields.get('final-recipient')) ?? '',
    action: actions.has(action) ? (action as ReportedRecipient['action']) : undefined,
    status: /\b[245]\.\d{1,3}\.\d{1,3}\b/.exec(fields.get('status') ?? '')?.[0],
    diagnostic: fields
      .get('diagnostic-code')
      ?.replace(/^[\w-]{1,20}\s*;\s*/, '')
      .slice(0, 500),
  }
}

/** Groups of header fields with empty lines between them, the first of a name counting. */
function fieldGroups(text: string): readonly Fields[] {
  const groups: Map<string, string>[] = [new Map()]
  let name = ''
  for (const line of text.slice(0, maxReportLength).split('\n')) {
    const group = groups.at(-1)
    if (group === undefined) break
    if (line.trim() === '') {
      if (group.size > 0) groups.push(new Map())
      name = ''
    } else if (/^[ \t]/.test(line)) {
      const value = group.get(name)
      if (value !== undefined && value.length < maxFieldLength) group.set(name, `${value} ${line.trim()}`)
    } else {
      const colon = line.indexOf(':')
      name = colon === -1 ? '' : line.slice(0, colon).trim().toLowerCase()
      if (name !== '' && !group.has(name)) group.set(name, line.slice(colon + 1, colon + maxFieldLength).trim())
      else name = ''
    }
  }
  return groups.filter((group) => group.size > 0)
}

/** `rfc822; <a@b.example>` */
function reportedAddress(value: string | undefined): string | undefined {
  const address = value
    ?.slice(value.indexOf(';') + 1)
    .trim()
    .replace(/^</, '')
    .replace(/>$/, '')
  return address !== undefined && /^[^\s<>]{1,250}@[^\s<>@]{1,250}$/.test(address) ? address : undefined
}

function reportedMessageId(value: string | undefined): string | undefined {
  return /<([^<>\s]{1,995}@[^<>\s@]{1,255})>/.exec((value ?? '').slice(0, maxFieldLength))?.[1]
}
