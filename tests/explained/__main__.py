from tests.explained import write

write()
