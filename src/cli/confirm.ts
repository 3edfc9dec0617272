// The question before something that cannot be undone. Without a terminal there is no question: --yes says it beforehand.
import process from 'node:process'
import { CommandError, exitCodes, wrongUsage } from './exit.ts'
import { printableLine } from './output.ts'

export const yesArg = {
  yes: { type: 'boolean', description: 'Do not ask; needed where there is no terminal' },
} as const

export async function confirmOrAbort(question: string, isAgreed: boolean | undefined): Promise<void> {
  if (isAgreed === true) return
  if (process.stdin.isTTY !== true || process.stderr.isTTY !== true)
    throw wrongUsage(`there is no terminal to ask on; add --yes to say: ${question.replace(/\?$/, '')}`)
  const prompts = await import('@clack/prompts')
  const answer = await prompts.confirm({
    message: printableLine(question),
    initialValue: false,
    output: process.stderr,
  })
  if (answer !== true) throw new CommandError(exitCodes.failed, 'declined', 'nothing was changed')
}
