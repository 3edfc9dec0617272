// `parley migrate`: bring the database up to this release and stop. Starting the gateway does the same by itself.
import { createStartingServer } from '../node/busy.ts'
import { openDatabase } from '../node/open-database.ts'
import { defineCommand } from './command.ts'
import { configArg, loadConfigFromDisk, migrationsFolder } from './load.ts'
import { jsonArg, print, printRemark, withProgress } from './output.ts'

export const migrateCommand = defineCommand({
  name: 'migrate',
  description: 'Bring the database up to this release; parley start does the same by itself.',
  examples: ['parley migrate', 'DATABASE_URL=postgres://… parley migrate --json'],
  args: { ...configArg, ...jsonArg },
  async run(args) {
    const config = await loadConfigFromDisk(args.config)
    await withProgress('migrating', async () => {
      const opened = await openDatabase({
        config,
        migrationsFolder,
        lockServer: createStartingServer(),
        tell: printRemark,
      })
      await opened.close()
    })
    print(args.json, { ok: true }, 'The database is up to date.')
  },
})
