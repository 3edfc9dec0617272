// `parley audit`: who decided what and why, what was rejected, and which settings are weak (`parley audit config`).

import type { Finding } from '../api/audit-config/finding.ts'
import type { AuditEntry, AuditPageFound } from '../db/audit.ts'
import type { Rejection } from '../identity/rejected-requests.ts'
import { readConfigFindings } from '../node/config-findings.ts'
import { exitCodes } from './command-error.ts'
import type { Group } from './command-line.ts'
import { buildPageQuery, pageArgs, pageFooter, parseTimeFlag } from './flags.ts'
import { loadConfigFromDisk } from './load-config.ts'
import { type CallGateway, operatorCommand } from './operator-command.ts'
import { formatInstant, formatTable, print, printableLine } from './output.ts'

// `parley audit config` has exit code 1 when a finding is critical.

type ConfigFindings = { readonly findings: readonly Finding[] }

const auditConfigCommand = operatorCommand({
  name: 'config',
  description: 'Look for weak settings in the configuration that is in effect. Exit code 1: something is critical.',
  examples: ['parley audit config', 'parley audit config --files --config parley.config.ts --json'],
  args: {
    files: {
      type: 'boolean',
      description: 'Ask no gateway: look at the file and the environment here; tokens are left out',
    },
  },
  async withoutGateway({ files, config, json }) {
    if (files !== true) return false
    printFindings(json, { findings: await readConfigFindings(await loadConfigFromDisk(config), undefined) })
    return true
  },
  async run({ args, callGateway }) {
    printFindings(args.json, await callGateway<ConfigFindings>('GET', '/admin/audit/config'))
  },
})

function printFindings(isJson: boolean | undefined, answer: ConfigFindings): void {
  const { findings } = answer
  print(isJson, answer, findings.length === 0 ? 'Nothing weak was found.' : findings.map(findingText).join('\n\n'))
  if (findings.some(({ severity }) => severity === 'critical')) process.exitCode = exitCodes.failed
}

function findingText({ id, severity, where, weak, remedy }: Finding): string {
  return [`${id}  ${severity}  ${where}`, `        ${weak}`, `        do: ${remedy}`].map(printableLine).join('\n')
}

const filterArgs = {
  principal: { type: 'string', description: 'Only about, or by, this subject', valueHint: 'subject' },
  agent: { type: 'string', description: 'Only about this agent', valueHint: 'slug' },
  actor: { type: 'string', description: 'Only by this operator, as the list names them', valueHint: 'name' },
  action: {
    type: 'string',
    description: 'Only this, or all of a kind: message, approval.resolve, …',
    valueHint: 'action',
  },
  outcome: { type: 'string', description: 'Only with this outcome: admitted, refused, done, …', valueHint: 'outcome' },
  code: { type: 'string', description: 'Only with this reason', valueHint: 'code' },
  inbox: { type: 'string', description: 'Only about this message', valueHint: 'id' },
  since: {
    type: 'string',
    description: 'Not before: 2026-01-31, 2026-01-31T08:00:00Z, or 45m, 12h, 30d, 8w ago',
    valueHint: 'time',
  },
  until: { type: 'string', description: 'Only before, written like --since', valueHint: 'time' },
} as const

type AuditQuery = Record<string, string | undefined>
type AuditFlags = { readonly [Name in keyof typeof filterArgs]?: string | undefined }

const auditListCommand = operatorCommand({
  name: 'list',
  description: 'List decisions, newest first: when, who, what, outcome, rule, evidence.',
  examples: [
    'parley audit --outcome refused --since 24h',
    'parley audit --principal space:T1/U42 --json',
    'parley audit --action approval --follow',
  ],
  args: {
    ...filterArgs,
    ...pageArgs,
    follow: { type: 'boolean', description: 'Go on with what is decided from now on; with --json one value per line' },
  },
  before: (args) => void auditQuery(args),
  async run({ args, callGateway, show }) {
    if (args.follow === true) return followAudit(callGateway, args)
    const page = await callGateway<AuditPageFound>('GET', `/admin/audit?${buildPageQuery(args, auditQuery(args))}`)
    const empty = page.next === null ? 'Nothing was decided that fits.' : 'Nothing that fits so far.'
    const lines = page.lines.length === 0 ? empty : auditTable(page.lines)
    show(page, `${lines}${pageFooter(page.next, 'parley audit')}`)
  },
})

function auditQuery({ principal, agent, actor, action, outcome, code, inbox, since, until }: AuditFlags): AuditQuery {
  const optionalInstant = (flag: string, text: string | undefined) =>
    text === undefined ? undefined : parseTimeFlag(flag, text)
  const times = { since: optionalInstant('since', since), until: optionalInstant('until', until) }
  return { principal, agent, actor, action, outcome, code, inbox, ...times }
}

const pollMs = 1_000
/** A line may be committed after one with a higher number: what is younger than this is asked for again. */
const settledMs = 10_000

async function followAudit(
  callGateway: CallGateway,
  args: AuditFlags & { readonly connection?: string | undefined; readonly json?: boolean | undefined },
): Promise<void> {
  const shown = new Map<number, string>()
  const more = { ...auditQuery(args), connection: args.connection }
  let after = await lastAuditSeq(callGateway)
  for (;;) {
    const page = await callGateway<AuditPageFound>(
      'GET',
      `/admin/audit?${buildPageQuery({ limit: '500' }, { ...more, after: String(after) })}`,
    )
    for (const line of page.lines.filter((each) => !shown.has(each.seq))) {
      shown.set(line.seq, line.at)
      print(args.json, line, auditRowText(line))
    }
    const newest = page.lines.at(-1)
    const settled = [...shown].filter(
      ([, at]) => newest !== undefined && Date.parse(newest.at) - Date.parse(at) > settledMs,
    )
    for (const [seq] of settled) {
      shown.delete(seq)
      after = Math.max(after, seq)
    }
    if (page.lines.length < 500) await new Promise((resolve) => setTimeout(resolve, pollMs))
    else after = Math.max(after, newest?.seq ?? after)
  }
}

async function lastAuditSeq(callGateway: CallGateway): Promise<number> {
  const page = await callGateway<AuditPageFound>('GET', '/admin/audit?limit=1')
  return page.lines[0]?.seq ?? 0
}

const columns = [
  { title: 'SEQ', cell: (line: AuditEntry) => line.seq },
  { title: 'TIME', cell: (line: AuditEntry) => formatInstant(line.at) },
  { title: 'WHO', cell: (line: AuditEntry) => line.actor ?? line.person },
  { title: 'ABOUT', cell: (line: AuditEntry) => (line.actor === null ? null : line.person) },
  { title: 'WHAT', cell: (line: AuditEntry) => line.action },
  {
    title: 'OUTCOME',
    cell: (line: AuditEntry) => (line.code === null ? line.outcome : `${line.outcome} (${line.code})`),
  },
  { title: 'RULE', cell: (line: AuditEntry) => line.rule },
  { title: 'EVIDENCE', cell: (line: AuditEntry) => evidenceText(line) },
  { title: 'WHERE', cell: (line: AuditEntry) => line.connection },
  { title: 'ID', cell: (line: AuditEntry) => line.objectId ?? line.inboxId },
] as const

function auditTable(lines: readonly AuditEntry[]): string {
  return formatTable(lines, columns)
}

/** The row without its titles. */
function auditRowText(line: AuditEntry): string {
  return auditTable([line]).split('\n').at(-1) ?? ''
}

function evidenceText({ evidence }: AuditEntry): string | null {
  return evidence === null ? null : `${String(evidence['assurance'])} by ${String(evidence['issuer'])}`
}

const rejectedCommand = operatorCommand({
  name: 'rejected',
  description:
    'List what the gateway process turned away lately: bad signatures, wrong secrets, tokens that are not valid.',
  examples: ['parley audit rejected', 'parley audit rejected --connection space/main --json'],
  args: { limit: pageArgs.limit, connection: pageArgs.connection },
  async run({ args, callGateway, show }) {
    const page = await callGateway<{ rejected: readonly Rejection[] }>(
      'GET',
      `/admin/rejected?${buildPageQuery(args, {})}`,
    )
    const lines = formatTable(page.rejected, [
      { title: 'TIME', cell: (each) => formatInstant(each.at) },
      { title: 'TRACE', cell: (each) => each.trace },
      { title: 'CONNECTION', cell: (each) => each.connection },
      { title: 'REASON', cell: (each) => each.reason },
      { title: 'FROM', cell: (each) => (each.isLocal ? 'this machine' : 'elsewhere') },
      { title: 'BYTES', cell: (each) => each.bytes },
    ])
    const none = 'Nothing was turned away since the gateway started. Counts over time are in the metrics.'
    show(page, page.rejected.length === 0 ? none : lines)
  },
})

export const auditCommands: Group = {
  name: 'audit',
  description:
    'Who decided what, on which ground; what was turned away; which settings are weak. Alone it lists decisions.',
  examples: ['parley audit --outcome refused', 'parley audit config'],
  fallback: 'list',
  commands: [auditListCommand, rejectedCommand, auditConfigCommand],
}
