// What a server's program is told of our environment: where programs are, and nothing else. The rest is what its
// configuration names.
import process from 'node:process'
import type { Secret } from '../../contract/index.ts'

/** The SDK adds variables of its own choice; an undefined one is not passed to the program. */
export function childEnvironment(
  given: Readonly<Record<string, Secret>>,
  inherited: readonly string[],
): Record<string, string> {
  const none = inherited.map((name) => [name, undefined] as const)
  const own = Object.entries(given).map(([name, value]) => [name, value.reveal()] as const)
  // Node leaves out variables without a value; the SDK's type does not know them.
  return Object.fromEntries([...none, ['PATH', process.env['PATH']], ...own]) as Record<string, string>
}
