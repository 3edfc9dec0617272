// The command line. Prints for people; exit code 1 when something is wrong, with what to do about it.
import { defineCommand, runMain } from 'citty'
import { explainCommand } from './explain.ts'
import { migrateCommand } from './migrate.ts'
import { startCommand } from './start.ts'

const main = defineCommand({
  meta: {
    name: 'parley',
    version: '0.1.0',
    description: 'Make an agent reachable from every channel, with nothing lost and nothing doubled.',
  },
  subCommands: { start: startCommand, migrate: migrateCommand, explain: explainCommand },
})

await runMain(main)
