import { describeOnDatabase } from '../../setup/describe-on-database.ts'
import { conform } from '../conform.ts'
import { waitingCases } from './waiting-cases.ts'

describeOnDatabase('what a paused run waits for', (database) => conform('waiting', waitingCases(database)))
