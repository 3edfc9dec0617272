// docs/cli.md is what the commands say of themselves. After a change: `npm test -- test/process/cli/help.test.ts -u`.
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { runInProcess } from './run-in-process.ts'

const document = fileURLToPath(new URL('../../../docs/cli.md', import.meta.url))

const introduction = `# The command line

\`start\`, \`migrate\`, \`backup\` and \`restore\` work on the database themselves. Every other command asks a running gateway: the
one whose socket lies in the data folder (\`PARLEY_DATA_DIR\`, \`.parley\` unless set), or the one at \`--url\`. When none runs, the
command opens the database itself, the embedded one or that of \`DATABASE_URL\`, and does the same there; it never migrates.

The token is \`--token\`, \`--token-file\` or \`PARLEY_TOKEN\`; through the socket else \`PARLEY_ADMIN_TOKEN\`, else the file
\`admin-token\` in the data folder. These two belong to the gateway of this folder: with \`--url\` they are sent to no address but
its own \`PARLEY_PUBLIC_URL\` over https, and any other address needs a token that is named for it. Plain http to another machine
needs \`--allow-http\`, and redirects are never followed.

With \`--json\` standard output holds one JSON value (\`--follow\`: one per line) and nothing else, also when the command fails:
\`{"error":{"code":"…","remedy":"…"}}\`. Remarks and progress go to standard error. Where there is no terminal nothing is
coloured and no question is asked: what cannot be undone then needs \`--yes\`.

A replay reads the stored original again where it was kept, decides access again, and runs the agent with the steps of its
journal; a step that is not in it is named and not done, and the replay ends there. It cannot keep an agent from effects
outside of its steps. The fixture of \`--save\` holds messages, history, steps and calls, without names, ids and secrets;
texts become filler of the same shape unless \`--with-text\` keeps them.

This page is made from the commands' own help.
`

async function help(words: readonly string[]): Promise<string> {
  const { stdout, stderr } = await runInProcess([...words, '--help'], { cwd: process.cwd(), env: {} })
  expect(stderr).toBe('')
  return stdout
}

/** The names below COMMANDS, or none for a command that does something itself. */
function commandsIn(text: string): readonly string[] {
  const [, list = ''] = /^COMMANDS\n\n([\s\S]*?)\n\n/m.exec(text) ?? []
  return list.split('\n').flatMap((line) => /^ +([\w-]+) {2}/.exec(line)?.[1] ?? [])
}

async function pages(words: readonly string[]): Promise<readonly string[]> {
  const text = await help(words)
  const below = await Promise.all(commandsIn(text).map((name) => pages([...words, name])))
  return [`## ${['parley', ...words].join(' ')}\n\n\`\`\`text\n${text.trimEnd()}\n\`\`\`\n`, ...below.flat()]
}

test('docs/cli.md holds the help of every command, each with an example and no colour', async () => {
  const all = await pages([])
  expect(all.length).toBeGreaterThan(10)
  for (const page of all) {
    expect(page).toMatch(/^EXAMPLES\n\n {2}\S/m)
    expect(page).not.toContain('\u001b')
  }
  await expect(`${introduction}\n${all.join('\n')}`).toMatchFileSnapshot(document)
}, 180_000)
