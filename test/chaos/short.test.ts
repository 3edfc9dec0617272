// One crash test for every run: a gateway killed with -9 before, in and after every step of a turn. The others are in all.test.ts.
import { describeCrashTests } from './describe-crash-tests.ts'

describeCrashTests(['steps'])
