// `parley audit config`: which settings are weak, by id, and what to do; exit code 1 when one of them is critical.

import type { Finding } from '../api/audit-config/finding.ts'
import { readConfigFindings } from '../node/config-findings.ts'
import { exitCodes } from './exit.ts'
import { loadConfigFromDisk } from './load.ts'
import { operatorCommand } from './operator.ts'
import { print, printableLine } from './output.ts'

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
