// The question before something that cannot be undone. Without a terminal there is no question: --yes says it beforehand.
import process from 'node:process'
import { CommandError, exitCodes, wrongUsage } from './exit.ts'
import { oneLine } from './output.ts'

export const yesArg = {
  yes: { type: 'boolean', description: 'Do not ask; needed where there is no terminal' },
} as const

export async function confirm(question: string, isAgreed: boolean | undefined): Promise<void> {
  if (isAgreed === true) return
  if (process.stdin.isTTY !== true || process.stderr.isTTY !== true)
    throw wrongUsage(`there is no terminal to ask on; add --yes to say: ${question.replace(/\?$/, '')}`)
  const prompts = await import('@clack/prompts')
  const answer = await prompts.confirm({ message: oneLine(question), initialValue: false, output: process.stderr })
  if (answer !== true) throw new CommandError(exitCodes.failed, 'declined', 'nothing was changed')
}
