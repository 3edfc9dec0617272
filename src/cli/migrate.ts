// `parley migrate`: bring the database up to this release and stop. Starting the gateway does the same by itself.
import { createServer } from 'node:net'
import { defineCommand } from 'citty'
import { openDatabase } from '../node/open-database.ts'
import { loadFromDisk, migrationsFolder, orExit } from './load.ts'

export const migrateCommand = defineCommand({
  meta: { name: 'migrate', description: 'Migrate the database to this release.' },
  args: { config: { type: 'string', description: 'Configuration file (default: parley.config.ts)' } },
  run: ({ args }) =>
    orExit(async () => {
      const config = await loadFromDisk(args.config)
      const opened = await openDatabase({ config, migrationsFolder, lockServer: createServer() })
      process.stdout.write(`The ${opened.database.kind} database is up to date.\n`)
      await opened.close()
    }),
})
