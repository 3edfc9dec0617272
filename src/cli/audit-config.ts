// `parley audit config`: which settings are weak, by id, and what to do; exit code 1 when one of them is critical.

import { readConfigFindings } from '../node/config-findings.ts'
import type { Finding } from '../operator/audit-config/finding.ts'
import { exitCodes } from './exit.ts'
import { loadFromDisk } from './load.ts'
import { operatorCommand } from './operator.ts'
import { oneLine, print } from './output.ts'

type Findings = { readonly findings: readonly Finding[] }

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
    report(json, { findings: await readConfigFindings(await loadFromDisk(config), undefined) })
    return true
  },
  async run({ args, callGateway }) {
    report(args.json, await callGateway<Findings>('GET', '/admin/audit/config'))
  },
})

function report(isJson: boolean | undefined, answer: Findings): void {
  const { findings } = answer
  print(isJson, answer, findings.length === 0 ? 'Nothing weak was found.' : findings.map(told).join('\n\n'))
  if (findings.some(({ severity }) => severity === 'critical')) process.exitCode = exitCodes.failed
}

function told({ id, severity, where, weak, remedy }: Finding): string {
  return [`${id}  ${severity}  ${where}`, `        ${weak}`, `        do: ${remedy}`].map(oneLine).join('\n')
}
