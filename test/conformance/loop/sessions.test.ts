import { describeOnEachDatabase } from '../../setup/each-database.ts'
import { conform } from '../conform.ts'
import { sessionCases } from './session-cases.ts'

describeOnEachDatabase('sessions', (database) => conform('and whose they are', sessionCases(database)))
