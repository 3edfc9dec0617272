// What a button of ours sends back when it is pressed: a letter for the decision and the code of what is decided.
import { maxButtonBytes } from './call.ts'

const letters = { approve: 'a', reject: 'r' } as const
const namePattern = /^([ar]):([0-9a-f]{6,36})$/

export type Decision = keyof typeof letters

/** Undefined where it would not fit, or would not be read back as what it was. */
export function buttonValue(decision: Decision, code: string): string | undefined {
  const value = `${letters[decision]}:${code.toLowerCase()}`
  return namePattern.test(value) && value.length <= maxButtonBytes ? value : undefined
}

export function parseButtonCommand(value: string): { readonly name: Decision; readonly args: string } | undefined {
  const [, letter, code] = namePattern.exec(value) ?? []
  if (code === undefined) return undefined
  return { name: letter === letters.approve ? 'approve' : 'reject', args: code }
}
