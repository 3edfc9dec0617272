// `parley migrate`: bring the database up to this release and stop. Starting the gateway does the same by itself.
import { createBusyServer } from '../node/busy.ts'
import { openDatabase } from '../node/open-database.ts'
import { command } from './command.ts'
import { configArg, loadFromDisk, migrationsFolder } from './load.ts'
import { jsonArg, print, remark, withProgress } from './output.ts'

export const migrateCommand = command({
  name: 'migrate',
  description: 'Bring the database up to this release; parley start does the same by itself.',
  examples: ['parley migrate', 'DATABASE_URL=postgres://… parley migrate --json'],
  args: { ...configArg, ...jsonArg },
  async run(args) {
    const config = await loadFromDisk(args.config)
    await withProgress('migrating', async () => {
      const opened = await openDatabase({ config, migrationsFolder, lockServer: createBusyServer(), tell: remark })
      await opened.close()
    })
    print(args.json, { ok: true }, 'The database is up to date.')
  },
})
