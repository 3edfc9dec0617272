// `parley audit list --follow` and `parley audit config`: decisions as they are made, and which settings are weak.

import { audit, auditCommands } from '../api/audit.ts'
import type { Finding } from '../api/audit-config/finding.ts'
import type { OperationOutput } from '../api/resource.ts'
import { auditGatewayConfig } from '../node/config-findings.ts'
import { exitCodes } from './command-error.ts'
import { loadConfigFromDisk } from './load-config.ts'
import { operationCommandNode, tableLines } from './operation-command.ts'
import { type AskOperation, operatorCommand } from './operator-command.ts'
import { printAnswer, printableLine } from './output.ts'

// `parley audit config` has exit code 1 when a finding is critical.

type ConfigFindings = { readonly findings: readonly Finding[] }

export const auditConfigCommand = operatorCommand({
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
    printFindings(json, { findings: await auditGatewayConfig(await loadConfigFromDisk(config), undefined) })
    return true
  },
  async run({ args, ask }) {
    printFindings(args.json, await ask(audit.operations.config, {}))
  },
})

function printFindings(isJson: boolean | undefined, answer: ConfigFindings): void {
  const { findings } = answer
  printAnswer(
    isJson,
    answer,
    findings.length === 0 ? 'Nothing weak was found.' : findings.map(findingText).join('\n\n'),
  )
  if (findings.some(({ severity }) => severity === 'critical')) process.exitCode = exitCodes.failed
}

function findingText({ id, severity, where, weak, remedy }: Finding): string {
  return [`${id}  ${severity}  ${where}`, `        ${weak}`, `        do: ${remedy}`].map(printableLine).join('\n')
}

// With --follow the log is read on from where it ends now.

const pollMs = 1_000
/** A line may be committed after one with a higher number: what is younger than this is asked for again. */
const settledMs = 10_000

const listCommand = auditCommands().commands.list

export const auditListCommand = operationCommandNode('audit', audit.operations.list, listCommand, {
  args: {
    follow: { type: 'boolean', description: 'Go on with what is decided from now on; with --json one value per line' },
  },
  async run({ args, ask }, input) {
    if (args['follow'] !== true) return false
    return followAudit(ask, input, args['json'] === true)
  },
})

type AuditRow = OperationOutput<typeof audit.operations.list>['lines'][number]

async function followAudit(ask: AskOperation, filter: object, isJson: boolean): Promise<never> {
  const { list } = audit.operations
  const shown = new Map<number, string>()
  let after = (await ask(list, { limit: 1 })).lines[0]?.seq ?? 0
  for (;;) {
    const page = await ask(list, { ...filter, limit: 500, after, before: undefined })
    for (const line of page.lines.filter((each) => !shown.has(each.seq))) {
      shown.set(line.seq, line.at)
      printAnswer(isJson, line, auditRowText(line))
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

/** The row without its titles. */
function auditRowText(line: AuditRow): string {
  return tableLines(listCommand, { lines: [line] }, { args: {}, isOffline: false }).at(-1) ?? ''
}
