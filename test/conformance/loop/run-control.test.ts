import { describeOnEachDatabase } from '../../setup/each-database.ts'
import { conform } from '../conform.ts'
import { runControlCases } from './run-control-cases.ts'

describeOnEachDatabase('run control', (database) => conform('who may touch a run', runControlCases(database)))
