// `parley migrate`: bring the database up to this release and stop. Starting the gateway does the same by itself.
import { createServer } from 'node:net'
import { defineCommand } from 'citty'
import { openDatabase } from '../node/open-database.ts'
import { databaseArg, loadFromDisk, migrationsFolder, orExit, tell } from './load.ts'

export const migrateCommand = defineCommand({
  meta: { name: 'migrate', description: 'Migrate the database to this release.' },
  args: {
    config: { type: 'string', description: 'Configuration file (default: parley.config.ts)' },
    database: databaseArg,
  },
  run: ({ args }) =>
    orExit(async () => {
      const config = await loadFromDisk(args.config, args.database)
      const opened = await openDatabase({ config, migrationsFolder, lockServer: createServer(), tell })
      process.stdout.write(`The ${config.database.kind} database is up to date.\n`)
      await opened.close()
    }),
})
