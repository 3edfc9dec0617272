import { describeOnEachDatabase } from '../../setup/each-database.ts'
import { conform } from '../conform.ts'
import { waitingCases } from './waiting-cases.ts'

describeOnEachDatabase('what a paused run waits for', (database) => conform('waiting', waitingCases(database)))
