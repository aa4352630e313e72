ALTER TABLE purchases DROP COLUMN note;
